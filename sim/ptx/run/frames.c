// SPDX-License-Identifier: BSD-3-Clause
// Implements frames: calls with their parameters, returns, and the exit of lanes.
#include "sim/ptx/run/exec.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 4096

static unsigned size_class(uint32_t bytes)
{
    unsigned class = 0;

    while ((256u << class) < bytes)
        class ++;
    return class;
}

struct frame *frame_take(struct worker *worker, const struct ptx_function *function)
{
    unsigned class = size_class(function->regs_bytes + 64);
    struct frame *f = worker->free_frames[class];

    if (f) {
        worker->free_frames[class] = f->parent;
    } else {
        f = malloc(sizeof(*f));
        if (!f)
            return NULL;
        f->regs = aligned_alloc(64, 256u << class);
        if (!f->regs) {
            free(f);
            return NULL;
        }
        memset(f->regs, 0, 256u << class);
        f->size_class = class;
    }
    f->function = function;
    f->parent = NULL;
    f->call = NULL;
    f->depth = 0;
    f->local_base = 0;
    return f;
}

void frame_give(struct worker *worker, struct frame *f)
{
    f->parent = worker->free_frames[f->size_class];
    worker->free_frames[f->size_class] = f;
}

// Returns the function at an address, if it belongs to this module.
static const struct ptx_function *function_at(const struct ptx_module *m, uint64_t address)
{
    for (uint32_t i = 0; i < m->function_count; i++)
        if ((uintptr_t)m->functions[i] == address)
            return m->functions[i];
    return NULL;
}

static bool signature_fits(const struct ptx_function *f, const struct call_op *call)
{
    if (f->entry || !f->defined || f->formal_count != call->arg_count ||
        f->return_count != call->ret_count)
        return false;
    for (uint32_t i = 0; i < call->arg_count; i++)
        if (f->formals[i].size != call->arg_sizes[i])
            return false;
    for (uint32_t i = 0; i < call->ret_count; i++)
        if (f->returns[i].size != call->ret_sizes[i])
            return false;
    return true;
}

static void formal_to_register(struct frame *f, const struct formal *formal, unsigned lane,
                               const char *from)
{
    char *to = f->regs + formal->reg - 1;

    if (formal->size == 8)
        memcpy(to + 8 * lane, from, 8);
    else {
        uint32_t word = 0;

        memcpy(&word, from, formal->size);
        memcpy(to + 4 * lane, &word, 4);
    }
}

static void pass_arguments(struct warp *w, struct frame *caller, struct frame *callee,
                           const struct call_op *call, uint32_t mask)
{
    const struct ptx_function *f = callee->function;

    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = first_lane(left);
        char *local = lane_local(w, lane);

        for (uint32_t i = 0; i < call->arg_count; i++) {
            const char *from = local + caller->local_base + call->args[i];

            if (f->formals[i].in_reg)
                formal_to_register(callee, &f->formals[i], lane, from);
            else
                memcpy(local + callee->local_base + f->formals[i].offset, from, call->arg_sizes[i]);
        }
    }
}

static bool frames_enter(struct warp *w, const struct insn *in, const struct ptx_function *f,
                         uint32_t pc, uint32_t mask)
{
    struct frame *caller = w->frame, *callee;
    uint64_t base = (uint64_t)caller->local_base + caller->function->frame_bytes;

    if (caller->depth >= MAX_DEPTH || base + f->frame_bytes > w->block->grid->lane_local)
        return fault_raise(w, in, PTX_FAULT_STACK, first_lane(mask), 0,
                           "stack overflow in a call of %s", f->name);
    callee = frame_take(w->block->worker, f);
    if (!callee)
        return fault_raise(w, in, PTX_FAULT_STACK, first_lane(mask), 0,
                           "no memory for a call of %s", f->name);
    callee->parent = caller;
    callee->call = in->call;
    callee->return_pc = pc + 1;
    callee->lanes = mask;
    callee->depth = caller->depth + 1;
    callee->local_base = (uint32_t)base;
    pass_arguments(w, caller, callee, in->call, mask);
    warp_add_split(w, callee, 0, mask);
    return true;
}

bool call_enter(struct warp *w, const struct insn *in, uint32_t pc, uint32_t mask, uint32_t *left,
                bool *entered)
{
    const struct ptx_function *f = in->call->callee;

    *left = 0;
    *entered = false;
    if (!f) {
        const uint64_t *targets = (const uint64_t *)ref_at(w, in->a);
        uint64_t target = targets[first_lane(mask)];

        for (unsigned i = 0; i < LANES; i++)
            if (mask >> i & 1 && targets[i] != target)
                *left |= 1u << i;
        mask &= ~*left;
        f = function_at(w->block->grid->module, target);
        if (f && f->alias)
            f = f->alias;
        if (!f || (!f->builtin && !signature_fits(f, in->call)))
            return fault_raise(w, in, PTX_FAULT_INVALID_PC, first_lane(mask), target,
                               "call of 0x%llx, which is no such function",
                               (unsigned long long)target);
    }
    if (f->builtin)
        return exec_builtin(w, in, f->builtin, mask);
    *entered = true;
    return frames_enter(w, in, f, pc, mask);
}

void call_return(struct warp *w, uint32_t mask)
{
    struct frame *callee = w->frame, *caller = callee->parent;
    const struct ptx_function *f = callee->function;
    const struct call_op *call = callee->call;

    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = first_lane(left);
        char *local = lane_local(w, lane);

        for (uint32_t i = 0; i < call->ret_count; i++) {
            char *to = local + caller->local_base + call->rets[i];

            if (f->returns[i].in_reg)
                memcpy(to,
                       callee->regs + f->returns[i].reg - 1 +
                           (f->returns[i].size == 8 ? 8 : 4) * lane,
                       call->ret_sizes[i]);
            else
                memcpy(to, local + callee->local_base + f->returns[i].offset, call->ret_sizes[i]);
        }
    }
    warp_add_split(w, caller, callee->return_pc, mask);
    callee->lanes &= ~mask;
    if (!callee->lanes)
        frame_give(w->block->worker, callee);
}

void lanes_exit(struct warp *w, struct frame *f, uint32_t mask)
{
    w->live &= ~mask;
    while (f) {
        struct frame *parent = f->parent;

        f->lanes &= ~mask;
        if (!f->lanes)
            frame_give(w->block->worker, f);
        f = parent;
    }
    // Splits that waited for these lanes check again.
    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].state == SPLIT_WARP_SYNC)
            w->splits[i].state = SPLIT_RUNNABLE;
    if (!w->live)
        w->block->running--;
    barrier_recheck(w->block);
}
