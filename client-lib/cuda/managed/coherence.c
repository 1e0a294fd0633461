// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/coherence.h"

#include <stdatomic.h>

#include "client-lib/cuda/managed/compared_memory.h"
#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/managed/polled_memory.h"
#include "client-lib/cuda/managed/quiet.h"
#include "client-lib/cuda/objects/before_work.h"

static CUresult work_goes(struct box_session *session, uint64_t context, uint64_t stream)
{
    if (mirror_moves_mine())
        return CUDA_SUCCESS;
    quiet_no_more(session, context);
    CUresult sent = mirrors_hand_over(session, stream), compared = compared_send(session, true);
    polled_work_sent();
    return sent == CUDA_SUCCESS ? compared : sent;
}

// Touches memory that the library is about to read, because faults cannot be served while it sends.
static void before_read(const void *memory, size_t size)
{
    const volatile uint8_t *at = memory;
    for (size_t i = 0; i < size; i += MIRROR_PAGE)
        (void)at[i];
    if (size)
        (void)at[size - 1];
}

static void wait_begins(struct box_session *session)
{
    if (mirror_moves_mine())
        return;
    (void)mirrors_hand_over_host(session);
    (void)compared_send(session, false);
}

static void wait_ended(struct box_session *session)
{
    if (mirror_moves_mine())
        return;
    (void)mirrors_hand_over_host(session);
    compared_fetch(session);
}

// The box's mirrors end with the context, so the program gets what the GPU has written there.
static void context_ends(uint64_t context)
{
    mirrors_context_ends(context);
    if (!compared_any_in(context))
        return;
    quiet_await_context(context);
    compared_context_gone(context);
}

static void context_gone(uint64_t context)
{
    mirrors_context_gone(context);
    compared_context_gone(context);
}

static void memory_ends(uint64_t base)
{
    (void)mirror_remove(base);
}

void coherence_begin(void)
{
    static const struct before_work duties = {.sent = work_goes,
                                              .wait_begins = wait_begins,
                                              .wait_ended = wait_ended,
                                              .read = before_read,
                                              .context_ends = context_ends,
                                              .context_gone = context_gone,
                                              .memory_ends = memory_ends};
    atomic_store_explicit(&before_work, &duties, memory_order_release);
}
