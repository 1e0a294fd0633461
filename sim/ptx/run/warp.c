// SPDX-License-Identifier: BSD-3-Clause
// Runs a warp: selects one of its splits and executes its instructions.
//
// Diverged lanes join again because the split at the lowest instruction (of the deepest frame) runs
// first and stops at another waiting split, where both merge. When a split loops for long, the
// split that has waited longest gets a turn. A lane that spins on a lock thus lets the owner, in
// the same warp, proceed.
#include "common/base/clock.h"
#include "sim/ptx/run/exec.h"

#include <string.h>

void warp_start(struct warp *w, struct frame *frame, uint32_t lanes)
{
    w->split_count = 0;
    w->lanes = w->live = lanes;
    w->budget = WARP_BUDGET;
    w->turn = 0;
    w->rotate = w->force_sync = w->blocked = false;
    w->frame = NULL;
    frame->lanes = lanes;
    warp_add_split(w, frame, 0, lanes);
}

// Merges splits at the same instruction.
static void merge_splits(struct warp *w)
{
    for (unsigned i = 0; i < w->split_count; i++) {
        struct split *a = &w->splits[i];

        for (unsigned k = i + 1; k < w->split_count;) {
            struct split *b = &w->splits[k];

            if (a->frame == b->frame && a->pc == b->pc && a->state != SPLIT_BARRIER &&
                b->state != SPLIT_BARRIER) {
                a->mask |= b->mask;
                a->state = SPLIT_RUNNABLE;
                if ((int32_t)(b->turn - a->turn) < 0)
                    a->turn = b->turn;
                *b = w->splits[--w->split_count];
            } else {
                k++;
            }
        }
    }
}

static bool warp_better(const struct split *a, const struct split *b, bool oldest)
{
    if (oldest)
        return (int32_t)(a->turn - b->turn) < 0;
    if (a->frame->depth != b->frame->depth)
        return a->frame->depth > b->frame->depth;
    return a->pc < b->pc;
}

static struct split *pick(struct warp *w, enum split_state state, bool oldest)
{
    struct split *best = NULL;

    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].state == state && (!best || warp_better(&w->splits[i], best, oldest)))
            best = &w->splits[i];
    return best;
}

// Returns the next instruction at which another split of the same frame waits to merge.
static uint32_t next_meeting(const struct warp *w, const struct split *s)
{
    uint32_t pc = UINT32_MAX;

    for (unsigned i = 0; i < w->split_count; i++) {
        const struct split *o = &w->splits[i];

        if (o != s && o->frame == s->frame && o->state != SPLIT_BARRIER && o->pc > s->pc &&
            o->pc < pc)
            pc = o->pc;
    }
    return pc;
}

// Returns the lanes that a warp-wide instruction waits for.
static uint32_t lanes_needed(const struct warp *w, const struct insn *in, uint32_t mask)
{
    const uint32_t *e = (const uint32_t *)ref_at(w, in->e);
    uint32_t need = 0;

    for (uint32_t left = mask; left; left &= left - 1)
        need |= e[first_lane(left)];
    return need & w->live;
}

// Releases lanes of a bar.warp.sync if all have arrived, possibly at different instructions.
static bool release_warp_sync(struct warp *w)
{
    uint32_t waiting = 0;
    bool released = false;

    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].state == SPLIT_WARP_SYNC)
            waiting |= w->splits[i].mask;
    for (unsigned i = 0; i < w->split_count; i++) {
        struct split *s = &w->splits[i];
        const struct insn *in = &s->frame->function->code[s->pc];

        if (s->state != SPLIT_WARP_SYNC || in->op != OP_BAR_WARP)
            continue;
        w->bases[REF_REG] = s->frame->regs;
        if (lanes_needed(w, in, s->mask) & ~waiting)
            continue;
        s->state = SPLIT_RUNNABLE;
        s->pc++;
        released = true;
    }
    return released;
}

static void read_clock(struct warp *w, const struct insn *in, uint32_t mask)
{
    const struct ptx_launch *launch = w->block->grid->launch;
    uint64_t ns = clock_read_ns(in->imm >= GLOBALTIMER_LO ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    uint64_t value, khz = launch->clock_khz ? launch->clock_khz : 1000000;
    char *d = ref_at(w, in->d);

    value = in->imm >= GLOBALTIMER_LO ? ns : (uint64_t)((unsigned __int128)ns * khz / 1000000);
    if (in->imm == CLOCK_HI || in->imm == GLOBALTIMER_HI)
        value >>= 32;
    w->budget -= ORDERED_COST;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t i = first_lane(left);

        if (in->dst_class == CLASS_DOUBLE)
            ((uint64_t *)d)[i] = value;
        else
            ((uint32_t *)d)[i] = (uint32_t)value;
    }
}

static void local_address(struct warp *w, const struct insn *in, uint32_t mask)
{
    uint32_t value = w->frame->local_base + in->imm;
    char *d = ref_at(w, in->d);

    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t i = first_lane(left);

        if (in->dst_class == CLASS_DOUBLE)
            ((uint64_t *)d)[i] = value;
        else
            ((uint32_t *)d)[i] = value;
    }
}

// Computes all lanes in a copy and stores the results of the active lanes only.
static void masked_alu(const struct insn *in, void *d, const void *a, const void *b, const void *c,
                       uint32_t mask)
{
    uint64_t aside[LANES] __attribute__((aligned(64)));

    in->fn(aside, a, b, c, in->imm);
    if (in->dst_class == CLASS_PRED) {
        uint32_t old = *(uint32_t *)d;

        *(uint32_t *)d = (old & ~mask) | (*(uint32_t *)aside & mask);
    } else if (in->dst_class == CLASS_DOUBLE) {
        uint64_t *to = d;

        for (int i = 0; i < LANES; i++)
            to[i] = mask >> i & 1 ? aside[i] : to[i];
    } else {
        uint32_t *to = d;
        const uint32_t *from = (const uint32_t *)aside;

        for (int i = 0; i < LANES; i++)
            to[i] = mask >> i & 1 ? from[i] : to[i];
    }
}

// The effect of an instruction on the running split.
enum warp_step {
    STEP_NEXT,
    STEP_JUMP,  // pc is set
    STEP_LEAVE, // the split ended or waits; select another
    STEP_STOP,
};

struct run {
    struct warp *w;
    struct split *s;
    const struct insn *code;
    uint32_t pc, mask;
};

// Splits off the lanes that a predicate excludes from a control-flow instruction.
static void warp_set_aside(struct run *r, uint32_t active)
{
    if (active == r->mask)
        return;
    uint32_t rest = r->mask & ~active;
    r->mask = active;
    r->s->mask = active;
    r->s->pc = r->pc;
    warp_add_split(r->w, r->s->frame, r->pc + 1, rest);
}

static void drop_split(struct run *r)
{
    struct warp *w = r->w;

    *r->s = w->splits[--w->split_count];
}

static enum warp_step branch(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;
    struct frame *frame = r->s->frame;
    uint32_t pc = r->pc, rest = r->mask & ~active;

    if (in->loop)
        w->budget--;
    r->pc = in->imm;
    if (!rest)
        return STEP_JUMP;
    drop_split(r);
    warp_add_split(w, frame, pc + 1, rest);
    warp_add_split(w, frame, in->imm, active);
    return STEP_LEAVE;
}

static enum warp_step branch_indexed(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;
    struct frame *frame = r->s->frame;
    const uint32_t *index = (const uint32_t *)ref_at(w, in->a);
    uint32_t pc = r->pc, rest = r->mask & ~active;

    w->budget--;
    for (uint32_t left = active; left; left &= left - 1)
        if (index[first_lane(left)] >= in->table->count)
            return fault_raise(w, in, PTX_FAULT_INVALID_PC, first_lane(left), 0,
                               "branch index %u is beyond %u", index[first_lane(left)],
                               in->table->count),
                   STEP_STOP;
    drop_split(r);
    if (rest)
        warp_add_split(w, frame, pc + 1, rest);
    while (active) {
        uint32_t k = index[first_lane(active)], same = 0;

        for (uint32_t left = active; left; left &= left - 1)
            if (index[first_lane(left)] == k)
                same |= left & -left;
        warp_add_split(w, frame, in->table->targets[k], same);
        active &= ~same;
    }
    return STEP_LEAVE;
}

static enum warp_step warp_call(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;
    struct frame *frame = r->s->frame;
    uint32_t pc = r->pc, rest = r->mask & ~active, left;
    bool entered;

    w->budget--;
    drop_split(r);
    if (rest)
        warp_add_split(w, frame, pc + 1, rest);
    if (!call_enter(w, in, pc, active, &left, &entered)) {
        warp_add_split(w, frame, pc, active); // keeps the frames reachable for freeing
        return STEP_STOP;
    }
    if (left)
        warp_add_split(w, frame, pc, left);
    if (!entered)
        warp_add_split(w, frame, pc + 1, active & ~left);
    return STEP_LEAVE;
}

static enum warp_step warp_leave(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;
    struct frame *frame = r->s->frame;
    uint32_t pc = r->pc, rest = r->mask & ~active;

    drop_split(r);
    if (rest)
        warp_add_split(w, frame, pc + 1, rest);
    if (in->op == OP_RET)
        call_return(w, active);
    else
        lanes_exit(w, frame, active);
    return STEP_LEAVE;
}

static enum warp_step barrier(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;

    warp_set_aside(r, active);
    if (!barrier_arrive(w, in, active))
        return STEP_STOP;
    r->s->pc = r->pc;
    if (in->imm == BAR_ARRIVE) {
        r->s->pc++;
    } else {
        r->s->state = SPLIT_BARRIER;
        r->s->barrier = ((const uint32_t *)ref_at(w, in->a))[first_lane(active)];
    }
    barrier_recheck(w->block);
    return STEP_LEAVE;
}

// Makes a warp-wide instruction wait until all lanes that it names have arrived.
static enum warp_step warp_wide(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;

    if (in->sync && !w->force_sync && lanes_needed(w, in, active) & ~active) {
        warp_set_aside(r, active);
        r->s->pc = r->pc;
        r->s->state = SPLIT_WARP_SYNC;
        return STEP_LEAVE;
    }
    w->force_sync = false;
    exec_lanes(w, in, active);
    return STEP_NEXT;
}

static enum warp_step trap(struct run *r, const struct insn *in, uint32_t active)
{
    fault_raise(r->w, in, PTX_FAULT_TRAP, first_lane(active), 0, "%s",
                in->op == OP_TRAP ? "trap" : "breakpoint");
    return STEP_STOP;
}

static enum warp_step step(struct run *r, const struct insn *in, uint32_t active)
{
    struct warp *w = r->w;
    bool good = true;

    switch ((enum opcode)in->op) {
    case OP_ALU: break;
    case OP_BRA: return branch(r, in, active);
    case OP_BRX: return branch_indexed(r, in, active);
    case OP_CALL: return warp_call(r, in, active);
    case OP_RET:
    case OP_EXIT: return warp_leave(r, in, active);
    case OP_TRAP:
    case OP_BRKPT: return trap(r, in, active);
    case OP_LD: good = exec_load(w, in, active); break;
    case OP_ST: good = exec_store(w, in, active); break;
    case OP_ATOM: good = exec_atomic(w, in, active); break;
    case OP_CP_ASYNC: good = exec_cp_async(w, in, active); break;
    case OP_CP_BULK: good = exec_cp_bulk(w, in, active); break;
    case OP_MBARRIER: good = exec_mbarrier(w, in, active); break;
    case OP_FENCE:
        atomic_thread_fence(memory_order_seq_cst);
        w->budget -= ORDERED_COST;
        break;
    case OP_BAR: return barrier(r, in, active);
    case OP_BAR_WARP:
    case OP_SHFL:
    case OP_VOTE:
    case OP_MATCH:
    case OP_REDUX:
    case OP_ELECT:
    case OP_ACTIVEMASK: return warp_wide(r, in, active);
    case OP_CLOCK: read_clock(w, in, active); break;
    case OP_LOCAL_ADDRESS: local_address(w, in, active); break;
    case OP_ISSPACEP: exec_isspacep(w, in, active); break;
    case OP_NANOSLEEP: w->budget = 0; break;
    case OP_TEXTURE: good = exec_texture(w, in, active); break;
    case OP_SURFACE: good = exec_surface(w, in, active); break;
    case OP_IMAGE_QUERY: exec_image_query(w, in, active); break;
    case OP_NOP: break;
    }
    return good ? STEP_NEXT : STEP_STOP;
}

// Executes a split until it meets another split, waits, ends, or exhausts its budget.
static bool run_split(struct warp *w, struct split *s, bool alone)
{
    struct frame *frame = s->frame;
    struct run r = {.w = w, .s = s, .code = frame->function->code, .pc = s->pc, .mask = s->mask};
    uint32_t stop = alone ? UINT32_MAX : next_meeting(w, s);

    w->frame = frame;
    w->bases[REF_REG] = frame->regs;
    s->turn = ++w->turn;
    do {
        const struct insn *in = &r.code[r.pc];
        uint32_t active = r.mask;

        if (in->pred != NO_PRED) {
            uint32_t p = *(const uint32_t *)ref_at(w, in->pred);

            active &= in->pred_negated ? ~p : p;
            if (!active) {
                r.pc++;
                continue;
            }
        }
        if (in->op == OP_ALU) {
            const void *a = ref_at(w, in->a), *b = ref_at(w, in->b), *c = ref_at(w, in->c);
            void *d = frame->regs + REF_OFFSET(in->d);

            if (active == frame->lanes)
                in->fn(d, a, b, c, in->imm);
            else
                masked_alu(in, d, a, b, c, active);
            r.pc++;
            continue;
        }
        switch (step(&r, in, active)) {
        case STEP_NEXT: r.pc++; break;
        case STEP_JUMP:
            if (w->budget < 0) {
                s->pc = r.pc;
                return true;
            }
            // After the jump another split may be the next to merge.
            if (in->loop && !alone && w->split_count > 1) {
                s->pc = r.pc;
                return true;
            }
            break;
        case STEP_LEAVE: return true;
        case STEP_STOP: return false;
        }
    } while (r.pc < stop);
    s->pc = r.pc;
    return true;
}

enum run_result warp_run(struct warp *w)
{
    w->budget = WARP_BUDGET;
    while (w->live) {
        struct split *s;

        if (atomic_load_explicit(&w->block->grid->stop, memory_order_relaxed))
            return RUN_STOP;
        merge_splits(w);
        bool rotate = w->rotate;
        s = pick(w, SPLIT_RUNNABLE, rotate);
        w->rotate = false;
        if (!s) {
            if (release_warp_sync(w))
                continue;
            if (pick(w, SPLIT_BARRIER, false) && !w->force_sync)
                return RUN_BLOCKED;
            s = pick(w, SPLIT_WARP_SYNC, false);
            if (!s)
                return RUN_BLOCKED;
            w->force_sync = true;
            s->state = SPLIT_RUNNABLE;
        }
        if (!run_split(w, s, rotate))
            return RUN_STOP;
        if (w->budget < 0) {
            w->rotate = !rotate;
            return w->live ? RUN_YIELD : RUN_DONE;
        }
    }
    return RUN_DONE;
}
