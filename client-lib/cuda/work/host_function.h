// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program that a stream calls.
#ifndef RGPU_CLIENT_HOST_FUNCTION_H
#define RGPU_CLIENT_HOST_FUNCTION_H

#include <stdbool.h>

#include "client-lib/cuda/session/box_session.h"

// Queues a call of a function or a callback in the stream. PER_THREAD: the caller uses per-thread
// default streams.
CUresult host_function_launch(CUstream stream, bool per_thread, CUhostFn function,
                              CUstreamCallback callback, void *data);

// The box reports that the stream has reached a host function, which then runs in its own thread.
// The thread that receives events calls this, so it never blocks. False: there is no such function.
bool host_function_due(struct box_session *session, const struct wire_host_function *due);

// Starts the thread that calls functions of the program, if it does not run yet. False: it cannot
// be started.
bool host_function_ready(void);
// The thread calls FUNCTION after all that is queued already, then reports to the box that TOKEN is
// done (0: no report). False: there is no memory. Never blocks.
bool host_function_queue(struct box_session *session, uint64_t token, CUhostFn function,
                         void *data);

#endif
