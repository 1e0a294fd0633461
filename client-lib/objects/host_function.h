// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program that a stream calls.
#ifndef RGPU_CLIENT_HOST_FUNCTION_H
#define RGPU_CLIENT_HOST_FUNCTION_H

#include "client-lib/session/box_session.h"

// Has the stream call a function or, if there is one, a callback. PER_THREAD: the caller uses per-thread
// default streams.
CUresult host_function_launch(CUstream stream, bool per_thread, CUhostFn function,
                              CUstreamCallback callback, void *data);

// The box says that the stream has come to one: it will run in a thread of its own. Called by the
// thread that receives events; never blocks.
void host_function_due(struct box_session *session, const struct wire_host_function *due);

#endif
