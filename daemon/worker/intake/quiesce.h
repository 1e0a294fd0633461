// SPDX-License-Identifier: BSD-3-Clause
// Quiesces the worker while its lease is suspended and the lease's memory is away from the GPUs.
//
// The driver's lock waits for all queued work, and lets no thread queue more. So before the
// supervisor takes this lock, no stream may wait on a semaphore whose signal needs a call of the
// driver. So the worker excludes semaphores (semaphores.h) until the lease resumes. Requests that
// arrive meanwhile wait unread, or read and not executed; the link is not touched.
#ifndef RGPU_WORKER_QUIESCE_H
#define RGPU_WORKER_QUIESCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Handle the supervisor's PAUSE and GO_ON, on the main thread. The worker reports PAUSED when it is
// quiesced.
void quiesce_begin(uint32_t number);
void quiesce_end(void);

// Handles HOLD: requests wait, without a quiesce, because their lease has used more of the GPU than
// its share.
void quiesce_hold(bool held);

// Sets COUNT, which returns the number of requests in execution. Call before requests are served. A
// session that received PAUSE while it was being opened quiesces here.
void quiesce_ask(unsigned (*count)(void));

// Waits while requests are held. Called before a request is executed, by the thread that has read
// it.
extern _Atomic bool quiesce_holds;
void quiesce_wait(void);
static inline void quiesce_pass(void)
{
    if (__builtin_expect(atomic_load_explicit(&quiesce_holds, memory_order_acquire), 0))
        quiesce_wait();
}

#endif
