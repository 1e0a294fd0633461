// Asynchronous copies from the GPU that arrive in staging blocks and have yet to be moved to the
// program's memory. Only links that share memory have them.
#ifndef RGPU_CLIENT_COPYOUT_H
#define RGPU_CLIENT_COPYOUT_H

#include "client-lib/session.h"

// Moves what has arrived. Called whenever a call has learnt that work of the GPU is complete.
void copyout_deliver(struct session *session);

// Whether any are outstanding.
bool copyout_owed(const struct session *session);

#endif
