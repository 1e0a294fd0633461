// SPDX-License-Identifier: BSD-3-Clause
// Records GPU activity while the client requests it. Between activity_enter() and activity_leave(),
// work that the thread queues belongs to a call of the program. If no client requests activity,
// each function only reads a flag.
#ifndef RGPU_WORKER_ACTIVITY_H
#define RGPU_WORKER_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

extern atomic_bool activity_noted; // the client requests activity
extern _Thread_local uint32_t activity_call;

static inline bool activity_is_noted(void)
{
    return __builtin_expect(atomic_load_explicit(&activity_noted, memory_order_relaxed), 0);
}

// Work that this thread queues from now on belongs to the program's call NUMBER; 0: unknown.
static inline void activity_enter(uint32_t number)
{
    if (activity_is_noted())
        activity_call = number;
}

static inline void activity_leave(void)
{
    if (activity_is_noted())
        activity_call = 0;
}

// Returns the number of the thread's present call, for activity_enter(). The call is executed in
// chunks, in streams of the worker, which the client sees as one copy in STREAM.
uint32_t activity_in_pieces(CUstream stream);

#endif
