// SPDX-License-Identifier: BSD-3-Clause
// Host functions: functions of the program that a stream calls, in a thread of the library.
#ifndef RGPU_CLIENT_HOST_FUNCTION_H
#define RGPU_CLIENT_HOST_FUNCTION_H

#include <stdbool.h>

#include "client-lib/cuda/session/box_session.h"

// Adds a call of FUNCTION, or if that is NULL of CALLBACK, with DATA to STREAM. PER_THREAD: the
// NULL stream means the per-thread default stream. Any thread may call.
CUresult host_function_launch(CUstream stream, bool per_thread, CUhostFn function,
                              CUstreamCallback callback, void *data);

// Handles the box's report that a stream has reached a host function: lets the library's thread
// call the function. Never blocks. Called by the receiving thread. Returns false if there is no
// such function.
bool host_function_due(struct box_session *session, const struct wire_host_function *due);

// Starts the thread that calls functions of the program, if it does not run yet. Returns false if
// the thread cannot be started.
bool host_function_ready(void);
// Queues FUNCTION(DATA) for that thread, after all functions that are queued already. Then the
// thread reports TOKEN to the box as done (0: no report). Returns false if memory has run out.
// Never blocks.
bool host_function_queue(struct box_session *session, uint64_t token, CUhostFn function,
                         void *data);

#endif
