// SPDX-License-Identifier: BSD-3-Clause
// The sixteen barriers of a block. Threads are counted; a warp whose live threads have all arrived
// counts as 32 threads, as on a GPU.
#include "sim/ptx/run/exec.h"

#include <string.h>

static uint32_t threads_arrived(const struct thread_block *b, const struct barrier *bar)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->warp_count; i++) {
        uint32_t arrived = bar->arrived[i], live = b->warps[i].live;

        if (arrived && !(live & ~arrived))
            n += LANES;
        else
            n += (uint32_t)__builtin_popcount(arrived);
    }
    return n;
}

static bool barrier_complete(const struct thread_block *b, const struct barrier *bar)
{
    if (bar->expected)
        return threads_arrived(b, bar) >= bar->expected;
    for (uint32_t i = 0; i < b->warp_count; i++)
        if (b->warps[i].live & ~bar->arrived[i])
            return false;
    return true;
}

static void barrier_give_result(struct warp *w, struct split *s, const struct barrier *bar)
{
    const struct insn *in = &s->frame->function->code[s->pc];
    struct frame *running = w->frame;
    uint32_t words[LANES];

    w->bases[REF_REG] = s->frame->regs;
    if (in->imm == BAR_RED_POPC) {
        for (int i = 0; i < LANES; i++)
            words[i] = bar->count_true;
        write_word(w, in->d, s->mask, words);
    } else if (in->imm == BAR_RED_AND) {
        write_pred(w, in->d, s->mask, bar->any_false ? 0 : ALL_LANES);
    } else if (in->imm == BAR_RED_OR) {
        write_pred(w, in->d, s->mask, bar->count_true ? ALL_LANES : 0);
    }
    w->bases[REF_REG] = running ? running->regs : NULL;
}

static void barrier_release(struct thread_block *b, uint32_t id)
{
    struct barrier *bar = &b->barriers[id];

    for (uint32_t i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];

        for (unsigned k = 0; k < w->split_count; k++) {
            struct split *s = &w->splits[k];

            if (s->state != SPLIT_BARRIER || s->barrier != id)
                continue;
            barrier_give_result(w, s, bar);
            s->state = SPLIT_RUNNABLE;
            s->pc++;
            w->blocked = false;
        }
    }
    memset(bar, 0, sizeof(*bar));
}

void barrier_recheck(struct thread_block *b)
{
    for (uint32_t id = 0; id < BARRIERS; id++)
        if (b->barriers[id].in_use && barrier_complete(b, &b->barriers[id]))
            barrier_release(b, id);
}

bool barrier_arrive(struct warp *w, const struct insn *in, uint32_t mask)
{
    uint32_t lane = first_lane(mask);
    uint32_t id = ((const uint32_t *)ref_at(w, in->a))[lane];
    uint32_t expected = ((const uint32_t *)ref_at(w, in->b))[lane];
    struct thread_block *b = w->block;
    struct barrier *bar;

    if (id >= BARRIERS || expected % LANES)
        return fault_raise(w, in, PTX_FAULT_ILLEGAL_INSTRUCTION, lane, 0,
                           "barrier %u with %u threads", id, expected);
    bar = &b->barriers[id];
    bar->in_use = true;
    bar->expected = expected;
    bar->arrived[w->index] |= mask;
    if (in->imm >= BAR_RED_POPC) {
        uint32_t p = *(const uint32_t *)ref_at(w, in->c);

        bar->count_true += (uint32_t)__builtin_popcount(p & mask);
        bar->any_false |= ~p & mask;
    }
    return true;
}
