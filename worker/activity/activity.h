// SPDX-License-Identifier: BSD-3-Clause
// What the GPU does for the session, noted while the client asks for it. Which call of the program something is of
// is known to the thread that queues it, from activity_enter() to activity_leave(). Where nobody asks, each
// costs one look at a flag.
#ifndef RGPU_WORKER_ACTIVITY_H
#define RGPU_WORKER_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

extern atomic_bool activity_noted; // somebody asks
extern _Thread_local uint32_t activity_call;

static inline bool activity_is_noted(void)
{
    return __builtin_expect(atomic_load_explicit(&activity_noted, memory_order_relaxed), 0);
}

// What this thread queues from here on is of the program's call NUMBER; 0: of none that is known.
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

// The call that the thread is in will be carried out in pieces, in streams of the worker's own: its number, to be
// entered when they are queued, and to the client they are pieces of one copy in STREAM.
uint32_t activity_in_pieces(CUstream stream);

#endif
