// SPDX-License-Identifier: BSD-3-Clause
// What a worker says to its supervisor, and how much of it.
#ifndef RGPU_DAEMON_WORKER_MESSAGES_H
#define RGPU_DAEMON_WORKER_MESSAGES_H

#include "daemon/worker_process.h"

// What a worker may send: so many in a burst, and then so many in a second.
enum {
    WORKER_MESSAGES_AT_ONCE = 200,
    WORKER_MESSAGES_PER_SECOND = 10,
    // Of shared memory; a worker holds itself to that (worker/asking.c).
    WORKER_CALLS_AT_ONCE = 128,
    WORKER_CALLS_PER_SECOND = 1,
    WORKER_EXPORTS_AT_ONCE = 20000,
    WORKER_EXPORTS_PER_SECOND = 2000,
};

// Takes up to MOST messages that are there. 0: there may be more, -EAGAIN: there is no more, else why it
// is over.
int worker_messages_take(struct worker_process *worker, int most);
// The handler of the worker's socket.
void worker_messages_readable(evutil_socket_t fd, short events, void *argument);

#endif
