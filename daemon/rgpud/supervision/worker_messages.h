// SPDX-License-Identifier: BSD-3-Clause
// Receives messages of workers and limits their number.
#ifndef RGPU_DAEMON_WORKER_MESSAGES_H
#define RGPU_DAEMON_WORKER_MESSAGES_H

#include "daemon/rgpud/workers/worker_process.h"

// Message limits of a worker: a burst, and then a rate per second.
enum {
    WORKER_MESSAGES_AT_ONCE = 200,
    WORKER_MESSAGES_PER_SECOND = 10,
    // Calls between boxes, and requests about shared memory. A thread of the worker waits for each
    // answer (daemon/worker/core/asking.c).
    WORKER_CALLS_AT_ONCE = 128,
    WORKER_CALLS_PER_SECOND = 1,
    WORKER_EXPORTS_AT_ONCE = 20000,
    WORKER_EXPORTS_PER_SECOND = 2000,
};

// Handles up to MOST messages. Returns 0 if more may be pending, -EAGAIN if none are, or another
// -errno if the connection ended.
int worker_messages_take(struct worker_process *worker, int most);
// Handles input on the worker's socket.
void worker_messages_readable(evutil_socket_t fd, short events, void *argument);

#endif
