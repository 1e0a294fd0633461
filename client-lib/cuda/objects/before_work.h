// SPDX-License-Identifier: BSD-3-Clause
// Hooks for memory of which both this host and a GPU or box have a copy (mirrors). They run before
// work that may access such memory is sent, and when a call waits for such work. A program without
// such memory pays for one check of a pointer. Any thread may call a hook.
#ifndef RGPU_CLIENT_BEFORE_WORK_H
#define RGPU_CLIENT_BEFORE_WORK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/session/box_session.h"

// The caller of a hook must not have reserved a request of the session (send.h).
struct before_work {
    // Called before work of CONTEXT (a handle; 0: none) is sent to STREAM (the program's value; 0:
    // unknown). If the result is an error, the work is not sent.
    CUresult (*sent)(struct box_session *session, uint64_t context, uint64_t stream);
    // Called before and after a call waits for work of the GPU.
    void (*wait_begins)(struct box_session *session);
    void (*wait_ended)(struct box_session *session);
    // Called before the library reserves a request and reads SIZE bytes at MEMORY into it, because
    // a page fault there would need the link.
    void (*read)(const void *memory, size_t size);
    // Called before CONTEXT (a handle) ends, to stop prefetching from it, and after it has ended.
    void (*context_ends)(uint64_t context);
    void (*context_gone)(uint64_t context);
    // Called before the managed memory that begins at BASE is freed.
    void (*memory_ends)(uint64_t base);
};

// The hooks of this process; NULL: none. Set once, before the first such memory exists.
extern const struct before_work *_Atomic before_work;
// Number of running functions of the program that streams wait for.
extern _Atomic unsigned int host_functions_running;

// Returns the hooks, or NULL if there are none.
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

static inline void before_work_memory_ends(const struct allocation *memory)
{
    const struct before_work *duties = before_work_duties();
    if (duties && memory->managed)
        duties->memory_ends(memory->base);
}

static inline void before_work_read(const void *memory, size_t size)
{
    const struct before_work *duties = before_work_duties();
    if (duties)
        duties->read(memory, size);
}

#endif
