// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program that a stream calls.
#ifndef RGPU_CLIENT_HOST_FUNCTION_H
#define RGPU_CLIENT_HOST_FUNCTION_H

#include <stdbool.h>

#include "client-lib/session/box_session.h"

// Has the stream call a function or, if there is one, a callback. PER_THREAD: the caller uses per-thread
// default streams.
CUresult host_function_launch(CUstream stream, bool per_thread, CUhostFn function,
                              CUstreamCallback callback, void *data);

// The box says that the stream has come to one: it will run in a thread of its own. Called by the
// thread that receives events; never blocks. False: there is none such.
bool host_function_due(struct box_session *session, const struct wire_host_function *due);

// Whether the thread runs in which functions of the program are called.
bool host_function_ready(void);
// Has it call FUNCTION after all that is queued already, and tell the box that TOKEN is done (0: tell nothing).
// False: no memory. Never blocks.
bool host_function_queue(struct box_session *session, uint64_t token, CUhostFn function,
                         void *data);

#endif
