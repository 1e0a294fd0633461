// SPDX-License-Identifier: BSD-3-Clause
// Records the GPU's activity for the session while the client requests it. The thread that queues
// work knows the program's call that the work belongs to, from activity_enter() to
// activity_leave(). Without such a request each costs one check of a flag.
#ifndef RGPU_WORKER_ACTIVITY_H
#define RGPU_WORKER_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

extern atomic_bool activity_noted; // a client requests activity
extern _Thread_local uint32_t activity_call;

static inline bool activity_is_noted(void)
{
    return __builtin_expect(atomic_load_explicit(&activity_noted, memory_order_relaxed), 0);
}

// Attributes work that this thread queues from here on to the program's call NUMBER; 0: unknown
// call.
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

// Announces that the thread's current call runs in chunks, in streams of the worker. Returns its
// number for activity_enter() when they are queued. The client sees the chunks as one copy in
// STREAM.
uint32_t activity_in_pieces(CUstream stream);

#endif
