// SPDX-License-Identifier: BSD-3-Clause
// Stream semaphores: words of memory on which streams of the GPU wait until data have moved
// (cuStreamWaitValue32), and their exclusion from calls that synchronize implicitly.
//
// Some calls of the driver synchronize implicitly: freeing memory, or loading and unloading code,
// waits for all work of the context, and lets no other thread queue work meanwhile. If a stream
// waited on a semaphore then, the copy before the signal could not be queued: a deadlock. So a
// request enters before it holds a stream, and counts as inside until its semaphores are released.
// A call that synchronizes waits until no request is inside, and keeps new ones out until it
// returns.
#ifndef RGPU_WORKER_SEMAPHORES_H
#define RGPU_WORKER_SEMAPHORES_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// The party that signals a semaphore: a copy of the worker, or a request of the client.
enum semaphore_owner { SEMAPHORE_OF_COPY, SEMAPHORE_OF_CLIENT };

// The right to take semaphores. It is acquired before any lock is taken, because this may wait for
// a call that synchronizes, and is released at the end of the scope:
//     SEMAPHORE_PASS(pass);
struct semaphore_pass {
    bool inside; // always: to have one is what counts
};
struct semaphore_pass semaphores_enter(void);
void semaphores_leave(const struct semaphore_pass *pass);
#define SEMAPHORE_PASS(name) \
    __attribute__((cleanup(semaphores_leave))) const struct semaphore_pass name = semaphores_enter()

// Returns an unsignalled semaphore, which the caller releases after the signal; -1: all are in use.
// *VALUE is the value of this use, as semaphores are used again.
int semaphore_take(const struct semaphore_pass *pass, enum semaphore_owner owner, uint32_t *value);
void semaphore_release(int semaphore);
CUresult semaphore_wait(CUstream stream, int semaphore, uint32_t value);
// Takes a semaphore for a copy and holds STREAM there. *SEMAPHORE is -1 after a failure.
CUresult semaphore_hold_stream(const struct semaphore_pass *pass, CUstream stream, int *semaphore,
                               uint32_t *value);
// Signals in the order of STREAM, or at once.
CUresult semaphore_signal_from(CUstream stream, int semaphore, uint32_t value);
void semaphore_signal(int semaphore, uint32_t value);
bool semaphore_is_signalled(int semaphore, uint32_t value);

// Bracket a call that synchronizes implicitly. semaphores_ask_sync() does not wait; if it returns
// false, semaphores_await_sync() must return before the call.
struct semaphore_sync {
    bool asked;
    uint64_t most; // number of the last semaphore of the client at that time
};
bool semaphores_ask_sync(struct semaphore_sync *sync) __attribute__((warn_unused_result));
void semaphores_await_sync(const struct semaphore_sync *sync);
void semaphores_sync_ended(void);

#endif
