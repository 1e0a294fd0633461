// Functions of the program that a stream calls.
#ifndef RGPU_CLIENT_HOST_FUNCTION_H
#define RGPU_CLIENT_HOST_FUNCTION_H

#include "client-lib/session.h"

// The box says that the stream has come to one: it will run in a thread of its own. Called by the
// thread that receives events; never blocks.
void host_function_due(struct session *session, const struct wire_host_function *due);

#endif
