// SPDX-License-Identifier: BSD-3-Clause
// Hooks that run before work goes to a GPU that may touch memory of which this host has a copy, and
// when a call waits for such work. Programs without such memory pay for one check of a pointer.
#ifndef RGPU_CLIENT_BEFORE_WORK_H
#define RGPU_CLIENT_BEFORE_WORK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// No hook is called while the link of the session is reserved.
struct before_work {
    // Work is about to be sent from CONTEXT (a handle; 0: none) to STREAM (as the program has it,
    // 0: not known).
    CUresult (*sent)(struct box_session *session, uint64_t context, uint64_t stream);
    // A call is about to wait for work of the GPU that is not done yet.
    void (*wait_begins)(struct box_session *session);
    void (*wait_ended)(struct box_session *session);
    // The library is about to read the program's memory with the link reserved.
    void (*read)(const void *memory, size_t size);
    // A context is about to end: data are no longer fetched ahead for it. Then, it has ended.
    void (*context_ends)(uint64_t context);
    void (*context_gone)(uint64_t context);
};

// NULL: no hooks. Set once, before the first memory of this kind exists.
extern const struct before_work *_Atomic before_work;
// Number of running functions of the program that streams wait for.
extern _Atomic unsigned int host_functions_running;

static inline const struct before_work *before_work_duties(void)
{
    return __builtin_expect(atomic_load_explicit(&before_work, memory_order_acquire) != NULL, 0)
               ? atomic_load_explicit(&before_work, memory_order_relaxed)
               : NULL;
}

static inline CUresult before_work_sent(struct box_session *session, uint64_t context,
                                        uint64_t stream)
{
    const struct before_work *duties = before_work_duties();
    return duties ? duties->sent(session, context, stream) : CUDA_SUCCESS;
}

static inline void before_work_wait_begins(struct box_session *session)
{
    const struct before_work *duties = before_work_duties();
    if (duties)
        duties->wait_begins(session);
}

static inline void before_work_wait_ended(struct box_session *session)
{
    const struct before_work *duties = before_work_duties();
    if (duties)
        duties->wait_ended(session);
}

static inline void before_work_read(const void *memory, size_t size)
{
    const struct before_work *duties = before_work_duties();
    if (duties)
        duties->read(memory, size);
}

#endif
