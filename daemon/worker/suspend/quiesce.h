// SPDX-License-Identifier: BSD-3-Clause
// Quiesces the worker while its lease is suspended, that is, while its device memory is in the
// host.
//
// The driver's checkpoint lock waits for all queued work and blocks new work. So no stream may wait
// on a semaphore whose signal needs a driver call. Therefore the worker excludes semaphores
// (semaphores.h) from before the lock until the lease resumes. Requests meanwhile are not read, or
// not executed; the link stays open.
#ifndef RGPU_WORKER_QUIESCE_H
#define RGPU_WORKER_QUIESCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Handle PAUSE and GO_ON of the supervisor, in the main thread. The worker sends PAUSED once it is
// quiesced.
void quiesce_begin(uint32_t number);
void quiesce_end(void);

// Handle SAVE and RESTORE, which come during a pause. The worker answers SAVED and RESTORED.
void quiesce_take_save(uint32_t number, uint32_t timeout_ms);
void quiesce_take_restore(uint32_t number);

// Handles HOLD: requests wait because their lease has used more GPU time than its share. The worker
// is not quiesced.
void quiesce_hold(bool held);

// Sets COUNT, which returns the number of requests in execution. Must be called before requests are
// served. If PAUSE has arrived already, quiesces the worker.
void quiesce_ask(unsigned (*count)(void));

// Waits while the worker is quiesced. Called by a request in execution before it creates memory,
// which the driver refuses in a suspended process.
void quiesce_await_end(void);

// Waits while requests are held. Called by the thread that has read a request, before it executes
// the request.
extern _Atomic bool quiesce_holds;
void quiesce_wait(void);
static inline void quiesce_pass(void)
{
    if (__builtin_expect(atomic_load_explicit(&quiesce_holds, memory_order_acquire), 0))
        quiesce_wait();
}

#endif
