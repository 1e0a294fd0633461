// SPDX-License-Identifier: BSD-3-Clause
// Receives messages of workers and limits their rate.
#ifndef RGPU_DAEMON_WORKER_MESSAGES_H
#define RGPU_DAEMON_WORKER_MESSAGES_H

#include "daemon/rgpud/workers/worker_process.h"

// Limits for a worker: a burst, and then a rate per second.
enum {
    WORKER_MESSAGES_AT_ONCE = 200,
    WORKER_MESSAGES_PER_SECOND = 10,
    // Connections between boxes, and requests about shared memory. A thread of the worker waits for
    // each answer (daemon/worker/core/asking.c).
    WORKER_CALLS_AT_ONCE = 128,
    WORKER_CALLS_PER_SECOND = 1,
    WORKER_EXPORTS_AT_ONCE = 20000,
    WORKER_EXPORTS_PER_SECOND = 2000,
};

// Handles up to MOST messages. Returns 0 if there may be more, -EAGAIN if not, or another -errno if
// the worker has closed the connection.
int worker_messages_take(struct worker_process *worker, int most);
// Event callback for input from a worker.
void worker_messages_readable(evutil_socket_t fd, short events, void *argument);

#endif
