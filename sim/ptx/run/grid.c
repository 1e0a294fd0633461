// SPDX-License-Identifier: BSD-3-Clause
// Implements launches. The calling thread and helpers from a pool run the blocks of a grid in
// order, each with a worker context that is kept for later launches.
#include "sim/ptx/run/helper_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_STACK 1024

static void broadcast32(char *at, uint32_t value)
{
    for (int i = 0; i < LANES; i++)
        ((uint32_t *)at)[i] = value;
}

static void broadcast64(char *at, uint64_t value)
{
    for (int i = 0; i < LANES; i++)
        ((uint64_t *)at)[i] = value;
}

static void init_launch_special(struct thread_block *b, uint32_t sm)
{
    const struct ptx_launch *l = b->grid->launch;
    struct grid *g = b->grid;
    char *s = b->launch_special;

    for (int i = 0; i < 3; i++) {
        broadcast32(s + LAUNCH_NTID + WORDS(i), l->block[i]);
        broadcast32(s + LAUNCH_NCTAID + WORDS(i), l->grid[i]);
    }
    broadcast32(s + LAUNCH_SMID, sm % (l->sm_count ? l->sm_count : 1));
    broadcast32(s + LAUNCH_NSMID, l->sm_count ? l->sm_count : 1);
    broadcast32(s + LAUNCH_NWARPID, 64);
    broadcast32(s + LAUNCH_DYNAMIC_SMEM, (uint32_t)l->dynamic_shared);
    broadcast32(s + LAUNCH_TOTAL_SMEM, (uint32_t)g->shared_size);
    broadcast64(s + LAUNCH_SHARED_BASE, (uintptr_t)b->shared);
    broadcast64(s + LAUNCH_PARAM_BASE, (uintptr_t)g->params);
    broadcast64(s + LAUNCH_DYNAMIC_OFFSET, g->dynamic_offset);
    broadcast32(s + LAUNCH_DYNAMIC_OFFSET32, (uint32_t)g->dynamic_offset);
    uint64_t word = l->cooperative ? g->sync_address : 0;
    broadcast32(s + LAUNCH_ENVREG, (uint32_t)(word >> 32));
    broadcast32(s + LAUNCH_ENVREG + WORDS(1), (uint32_t)word);
    broadcast64(s + LAUNCH_GRIDID, g->id);
}

static void init_warp_special(struct warp *w)
{
    const unsigned *dims = w->block->grid->launch->block;
    uint32_t *s = (uint32_t *)w->special;

    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t t = w->index * LANES + i, eq = 1u << i;

        s[WARP_TID / 4 + i] = t % dims[0];
        s[(WARP_TID + WORDS(1)) / 4 + i] = t / dims[0] % dims[1];
        s[(WARP_TID + WORDS(2)) / 4 + i] = t / dims[0] / dims[1];
        s[WARP_LANEID / 4 + i] = i;
        s[WARP_WARPID / 4 + i] = w->index;
        s[WARP_LANEMASK_EQ / 4 + i] = eq;
        s[WARP_LANEMASK_LT / 4 + i] = eq - 1;
        s[WARP_LANEMASK_LE / 4 + i] = eq | (eq - 1);
        s[WARP_LANEMASK_GE / 4 + i] = ~(eq - 1);
        s[WARP_LANEMASK_GT / 4 + i] = ~(eq | (eq - 1));
        ((uint64_t *)(w->special + WARP_LOCAL_BASE))[i] = (uintptr_t)lane_local(w, i);
    }
}

static void block_free(struct thread_block *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; b->warps && i < b->warp_count; i++)
        free(b->warps[i].special);
    free(b->warps);
    free(b->shared);
    free(b->local);
    free(b->launch_special);
    free(b);
}

static size_t grid_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static struct thread_block *block_new(struct worker *worker)
{
    struct thread_block *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    b->warp_count = worker->block_warps;
    b->warps = calloc(b->warp_count, sizeof(*b->warps));
    b->shared = aligned_alloc(1024, grid_round_up(worker->block_shared + 64, 1024));
    b->local = aligned_alloc(128, grid_round_up(worker->block_local + 64, 128));
    b->launch_special = aligned_alloc(64, LAUNCH_BYTES + 256);
    if (!b->warps || !b->shared || !b->local || !b->launch_special)
        goto fail;
    memset(b->shared, 0, worker->block_shared);
    memset(b->launch_special, 0, LAUNCH_BYTES + 256);
    for (uint32_t i = 0; i < b->warp_count; i++) {
        b->warps[i].special = aligned_alloc(64, WARP_BYTES + 256);
        if (!b->warps[i].special)
            goto fail;
        memset(b->warps[i].special, 0, WARP_BYTES + 256);
    }
    return b;
fail:
    block_free(b);
    return NULL;
}

// Frees block contexts that are too small for this launch.
static void worker_fit(struct worker *worker, struct grid *g)
{
    size_t local = (size_t)g->lane_local * g->warps * LANES;

    worker->grid = g;
    memset(worker->ranges, 0, sizeof(worker->ranges));
    if (worker->block_warps >= g->warps && worker->block_shared >= g->shared_size &&
        worker->block_local >= local && worker->block_local <= 64 * (local + (1u << 20)))
        return;
    while (worker->blocks) {
        struct thread_block *b = worker->blocks;

        worker->blocks = b->next;
        b->warp_count = worker->block_warps;
        block_free(b);
    }
    worker->block_warps = g->warps;
    worker->block_shared = g->shared_size;
    worker->block_local = local;
}

// Returns a context for a block of this launch; the caller sets the block's index.
static struct thread_block *thread_block_take(struct worker *worker)
{
    struct grid *g = worker->grid;
    struct thread_block *b = worker->blocks;
    static _Atomic uint32_t next_sm;

    if (b)
        worker->blocks = b->next;
    else
        b = block_new(worker);
    if (!b)
        return NULL;
    b->worker = worker;
    b->grid = g;
    b->shared_size = g->shared_size;
    b->warp_count = g->warps;
    init_launch_special(b, next_sm++);
    for (uint32_t i = 0; i < g->warps; i++) {
        struct warp *w = &b->warps[i];

        w->block = b;
        w->index = i;
        w->bases[REF_CONST] = (char *)g->module->constants;
        w->bases[REF_LAUNCH] = b->launch_special;
        w->bases[REF_WARP] = w->special;
        init_warp_special(w);
    }
    return b;
}

static void block_give(struct thread_block *b)
{
    struct worker *worker = b->worker;

    b->warp_count = worker->block_warps;
    b->next = worker->blocks;
    worker->blocks = b;
}

static bool block_start(struct thread_block *b, uint64_t number)
{
    struct grid *g = b->grid;
    const unsigned *dims = g->launch->grid;

    b->id[0] = (uint32_t)(number % dims[0]);
    b->id[1] = (uint32_t)(number / dims[0] % dims[1]);
    b->id[2] = (uint32_t)(number / dims[0] / dims[1]);
    for (int i = 0; i < 3; i++)
        broadcast32(b->launch_special + LAUNCH_CTAID + WORDS(i), b->id[i]);
    memset(b->barriers, 0, sizeof(b->barriers));
    b->running = g->warps;
    for (uint32_t i = 0; i < g->warps; i++)
        b->warps[i].split_count = 0;
    for (uint32_t i = 0; i < g->warps; i++) {
        struct frame *f = frame_take(b->worker, g->function);
        uint32_t threads = g->threads - i * LANES;

        if (!f)
            return false;
        warp_start(&b->warps[i], f, threads >= LANES ? ALL_LANES : (1u << threads) - 1);
    }
    return true;
}

static void break_deadlock(struct thread_block *b)
{
    bool any = false;

    for (uint32_t i = 0; i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];

        for (unsigned k = 0; k < w->split_count; k++) {
            if (w->splits[k].state != SPLIT_WARP_SYNC)
                continue;
            w->force_sync = true;
            w->blocked = false;
            any = true;
        }
    }
    for (uint32_t i = 0; !any && i < b->warp_count; i++) {
        struct warp *w = &b->warps[i];

        if (w->live) {
            fault_raise(w, NULL, PTX_FAULT_DEADLOCK, first_lane(w->live), 0,
                        "every thread of the block waits at a barrier for others");
            return;
        }
    }
}

// Gives every runnable warp one turn. Returns false if the launch must stop.
static bool block_turn(struct thread_block *b)
{
    struct grid *g = b->grid;
    bool ran = false;

    if (g->launch->cancel && __atomic_load_n(g->launch->cancel, __ATOMIC_RELAXED)) {
        atomic_store(&g->stop, true);
        return false;
    }
    for (uint32_t i = 0; i < g->warps; i++) {
        struct warp *w = &b->warps[i];

        if (!w->live || w->blocked)
            continue;
        ran = true;
        switch (warp_run(w)) {
        case RUN_BLOCKED: w->blocked = true; break;
        case RUN_STOP: return false;
        case RUN_DONE:
        case RUN_YIELD: break;
        }
    }
    if (!ran)
        break_deadlock(b);
    return true;
}

// Returns the frames of a stopped launch to the free lists.
static void thread_block_abandon(struct thread_block *b)
{
    for (uint32_t i = 0; i < b->grid->warps; i++) {
        struct warp *w = &b->warps[i];

        while (w->split_count) {
            struct split *s = &w->splits[w->split_count - 1];
            struct frame *f = s->frame;
            uint32_t mask = s->mask;

            w->split_count--;
            while (f) {
                struct frame *parent = f->parent;

                f->lanes &= ~mask;
                if (!f->lanes)
                    frame_give(b->worker, f);
                f = parent;
            }
        }
        w->live = 0;
    }
}

static void out_of_memory(struct grid *g)
{
    if (!atomic_flag_test_and_set(&g->fault_taken))
        g->result = -ENOMEM;
    atomic_store(&g->stop, true);
}

static void run_blocks(struct worker *worker, struct grid *g)
{
    struct thread_block *b = thread_block_take(worker);

    if (!b) {
        out_of_memory(g);
        return;
    }
    for (;;) {
        uint64_t number = atomic_fetch_add(&g->next_block, 1);

        if (number >= g->block_total || atomic_load(&g->stop))
            break;
        if (!block_start(b, number)) {
            thread_block_abandon(b);
            out_of_memory(g);
            break;
        }
        while (b->running && block_turn(b) && !atomic_load(&g->stop))
            continue;
        if (b->running) {
            thread_block_abandon(b);
            break;
        }
    }
    block_give(b);
}

// Runs a cooperative launch. Each worker gives its blocks turns and takes one more block each round
// while there are any, so that all blocks run and may wait for each other.
static void run_cooperative(struct worker *worker, struct grid *g)
{
    struct thread_block *taken = NULL;
    uint64_t left = 0;
    bool more = true;

    while ((left || more) && !atomic_load(&g->stop)) {
        uint64_t number = more ? atomic_fetch_add(&g->next_block, 1) : 0;

        more = more && number < g->block_total;
        if (more) {
            struct thread_block *b = thread_block_take(worker);

            if (!b) {
                out_of_memory(g);
                break;
            }
            b->next = taken;
            taken = b;
            left++;
            if (!block_start(b, number)) {
                out_of_memory(g);
                break;
            }
        }
        for (struct thread_block *b = taken; b && !atomic_load(&g->stop); b = b->next) {
            if (!b->running)
                continue;
            if (!block_turn(b))
                break;
            left -= !b->running;
        }
    }
    while (taken) {
        struct thread_block *b = taken;

        taken = b->next;
        if (b->running)
            thread_block_abandon(b);
        block_give(b);
    }
}

static void grid_work(struct grid *g)
{
    struct worker *worker = worker_take();

    if (!worker) {
        out_of_memory(g);
        return;
    }
    worker_fit(worker, g);
    if (g->launch->cooperative)
        run_cooperative(worker, g);
    else
        run_blocks(worker, g);
    images_release(worker);
    worker_give(worker);
}

static int check_launch(const struct ptx_launch *l, uint64_t *shared)
{
    const struct ptx_function_info *info = &l->function->info;
    uint64_t threads = 1, blocks = 1;

    for (int i = 0; i < 3; i++) {
        if (!l->grid[i] || !l->block[i] || l->block[i] > 1024)
            return -EINVAL;
        if (info->required_block[0] && l->block[i] != info->required_block[i])
            return -EINVAL;
        threads *= l->block[i];
        blocks *= l->grid[i];
    }
    if (threads > 1024 || threads > info->max_threads || blocks > 1ull << 62)
        return -EINVAL;
    if (l->dynamic_shared > PTX_MAX_SHARED ||
        info->static_shared + l->dynamic_shared > PTX_MAX_SHARED)
        return -EINVAL;
    if (l->cooperative && blocks > PTX_MAX_COOPERATIVE_BLOCKS)
        return -EINVAL;
    if (info->param_bytes && !l->params)
        return -EINVAL;
    for (uint32_t i = 0; i < l->function->module->global_count; i++)
        if (!l->function->module->globals[i]->bound)
            return -EINVAL;
    *shared = grid_round_up(info->static_shared, 16) + l->dynamic_shared;
    return 0;
}

static unsigned thread_count(const struct ptx_launch *l, uint64_t blocks)
{
    long cores = l->threads ? 0 : sysconf(_SC_NPROCESSORS_ONLN); // sysconf reads a file
    uint64_t n = l->threads ? l->threads : cores > 0 ? (uint64_t)cores : 1;

    return (unsigned)(n > blocks ? blocks : n > 1024 ? 1024 : n);
}

int ptx_launch_run(const struct ptx_launch *launch, struct ptx_fault *fault)
{
    static _Atomic uint64_t next_id;
    struct ptx_function *f = launch->function;
    struct grid g = {.launch = launch, .function = f, .module = f->module};
    char *params = NULL;
    int result = check_launch(launch, &g.shared_size);

    memset(fault, 0, sizeof(*fault));
    if (result)
        return result;
    g.dynamic_offset = grid_round_up(f->info.static_shared, 16);
    g.threads = launch->block[0] * launch->block[1] * launch->block[2];
    g.warps = (g.threads + LANES - 1) / LANES;
    g.lane_local = f->total_local;
    if (f->recursive)
        g.lane_local += launch->stack_bytes ? launch->stack_bytes : DEFAULT_STACK;
    g.lane_local = grid_round_up(g.lane_local, 128);
    if (g.lane_local > 1u << 24)
        return -ENOMEM;
    g.block_total = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    g.thread_count = thread_count(launch, g.block_total);
    g.id = ++next_id;
    g.sync_address = (uintptr_t)g.sync_words;
    params = aligned_alloc(64, grid_round_up(f->info.param_bytes + 64, 64));
    if (!params)
        return -ENOMEM;
    memcpy(params, launch->params ? launch->params : "", f->info.param_bytes);
    g.params = params;
    atomic_flag_clear(&g.fault_taken);
    helpers_run(&g, g.thread_count - 1, grid_work);
    free(params);
    *fault = g.fault;
    if (!g.result && atomic_load(&g.stop))
        g.result = -ECANCELED;
    return g.result;
}
