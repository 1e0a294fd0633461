// SPDX-License-Identifier: BSD-3-Clause
// Stream semaphores: words of memory on which streams wait until data have moved
// (cuStreamWaitValue32), and their exclusion from driver calls that synchronize implicitly.
//
// Some driver calls synchronize implicitly: to free memory, or to load or unload code, they wait
// for all work of the context and let no other thread queue work. If a stream waited on a semaphore
// meanwhile, the copy before its signal could not be queued: a deadlock. Therefore a request calls
// semaphores_enter() before it makes a stream wait, and counts as inside until its semaphores are
// released. A call that synchronizes waits until no request is inside, and makes new ones wait
// until it returns.
#ifndef RGPU_WORKER_SEMAPHORES_H
#define RGPU_WORKER_SEMAPHORES_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

// Party that signals a semaphore: a copy of the worker, or a request of the client.
enum semaphore_owner { SEMAPHORE_OF_COPY, SEMAPHORE_OF_CLIENT };

// The right to take semaphores. Acquire it before any lock, because this may wait for a call that
// synchronizes. SEMAPHORE_PASS(pass) releases it at the end of the scope.
struct semaphore_pass {
    bool inside; // always true: having a pass is what counts
};
struct semaphore_pass semaphores_enter(void);
void semaphores_leave(const struct semaphore_pass *pass);
#define SEMAPHORE_PASS(name) \
    __attribute__((cleanup(semaphores_leave))) const struct semaphore_pass name = semaphores_enter()

// Returns an unsignalled semaphore, or -1 if all are in use. The caller releases it after the
// signal. Semaphores are reused; *VALUE is the value that signals this use.
int semaphore_take(const struct semaphore_pass *pass, enum semaphore_owner owner, uint32_t *value);
void semaphore_release(int semaphore);
CUresult semaphore_wait(CUstream stream, int semaphore, uint32_t value);
// Takes a semaphore for a copy and makes STREAM wait on it. *SEMAPHORE is -1 on failure.
CUresult semaphore_hold_stream(const struct semaphore_pass *pass, CUstream stream, int *semaphore,
                               uint32_t *value);
// Signal in the order of STREAM, or at once.
CUresult semaphore_signal_from(CUstream stream, int semaphore, uint32_t value);
void semaphore_signal(int semaphore, uint32_t value);
bool semaphore_is_signalled(int semaphore, uint32_t value);

// Must surround a call that synchronizes implicitly. semaphores_ask_sync() does not wait; if it
// returns false, semaphores_await_sync() must be called before the driver.
struct semaphore_sync {
    bool asked;
    uint64_t most; // number of the client's last semaphore then
};
bool semaphores_ask_sync(struct semaphore_sync *sync) __attribute__((warn_unused_result));
void semaphores_await_sync(const struct semaphore_sync *sync);
void semaphores_sync_ended(void);
unsigned semaphores_waiting(void); // number of requests that wait for such a call to end

#endif
