// SPDX-License-Identifier: BSD-3-Clause
// A lease that is suspended: its workers are quiet while their memory is away from the GPUs.
//
// The driver's lock waits for all work that is queued, and lets nobody queue more. So before it is taken no stream may
// stop at a gate whose opening needs a call of the driver: the worker takes the side of those who drain (gates.h),
// which goes on until the lease does. Requests that come meanwhile wait unread, or read and not executed; the link
// stays as it is.
#ifndef RGPU_WORKER_STANDSTILL_H
#define RGPU_WORKER_STANDSTILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// The supervisor's PAUSE and GO_ON, from the main thread. PAUSED is said when all is quiet.
void standstill_begin(uint32_t number);
void standstill_end(void);

// HOLD: requests wait without anything coming to a rest, as their lease has had more of the GPU than its share.
void standstill_hold(bool held);

// COUNT says how many requests are being executed. Before requests are served; a session that was told to pause while it
// was being opened rests from here on.
void standstill_ask(unsigned (*count)(void));

// Before a request is executed, by the thread that has read it.
extern _Atomic bool standstill_holds;
void standstill_wait(void);
static inline void standstill_pass(void)
{
    if (__builtin_expect(atomic_load_explicit(&standstill_holds, memory_order_acquire), 0))
        standstill_wait();
}

#endif
