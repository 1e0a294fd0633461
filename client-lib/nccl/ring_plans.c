// SPDX-License-Identifier: BSD-3-Clause
// Collectives around the ring, piece by piece. Each piece occupies a slot of its receiver until the
// receiver has used it.
#include "client-lib/nccl/operation.h"

// ---- pieces ----

struct number_span {
    size_t first, count;
};

static size_t piece_numbers(const struct nccl_operation *o)
{
    return RING_PIECE / number_size(o->type);
}

static size_t ring_plans_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static CUdeviceptr at(const struct nccl_operation *o, CUdeviceptr base, size_t number)
{
    return base + number * number_size(o->type);
}

static size_t ring_plans_bytes_of(const struct nccl_operation *o, size_t count)
{
    return count * number_size(o->type);
}

// Returns the rank that is STEPS before this one in the ring.
static size_t behind(const struct rank_plan *plan, int steps)
{
    int ranks = plan->comm->ranks;
    return (size_t)(((plan->comm->rank - steps) % ranks + ranks) % ranks);
}

CUdeviceptr operation_scalar(const struct nccl_operation *o, const struct rank_plan *plan)
{
    return o->scalar ? o->scalar : channel_scalar(plan->comm, plan->channel);
}

CUdeviceptr operation_own(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                          size_t count)
{
    CUdeviceptr scaled = channel_scratch(plan->comm, plan->channel, SCRATCH_OWN);
    if (!o->is_scaled)
        return at(o, o->from, first);
    plan_combine(plan, o->type, COMBINE_SCALED, scaled, at(o, o->from, first),
                 operation_scalar(o, plan), count);
    return scaled;
}

void operation_finish(const struct nccl_operation *o, struct rank_plan *plan, CUdeviceptr result,
                      size_t count)
{
    if (o->divisor)
        plan_combine(plan, o->type, COMBINE_DIVIDED, result, result, o->divisor, count);
}

// ---- all-reduce ----

// Returns the address of this rank's contribution to piece NUMBER. Scaled pieces alternate between
// the scratch buffers, since one may be in transit while the one before is combined.
static CUdeviceptr own_piece(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                             size_t count, size_t number)
{
    CUdeviceptr scaled = channel_scratch(plan->comm, plan->channel, number % SCRATCHES);
    if (!o->is_scaled)
        return at(o, o->from, first);
    plan_combine(plan, o->type, COMBINE_SCALED, scaled, at(o, o->from, first),
                 operation_scalar(o, plan), count);
    return scaled;
}

// All-reduce of two ranks: each receives all data of the other one, and both combine them in the
// same order. Pieces are sent ahead into all slots, so that none waits for the round trip of
// another.
static void exchange_whole(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                           size_t end)
{
    const size_t each = piece_numbers(o), pieces = (end - first + each - 1) / each;
    CUdeviceptr own[SLOTS];
    for (size_t put = 0, taken = 0; taken < pieces;) {
        if (put < pieces && put < taken + SLOTS) {
            size_t from = first + put * each, count = ring_plans_least(end - from, each);
            own[put % SLOTS] = own_piece(o, plan, from, count, put);
            plan_ring_put(plan, own[put++ % SLOTS], ring_plans_bytes_of(o, count));
            continue;
        }
        size_t from = first + taken * each, count = ring_plans_least(end - from, each);
        CUdeviceptr to = at(o, o->to, from), came = plan_ring_await(plan),
                    mine = own[taken++ % SLOTS];
        bool is_first = plan->comm->rank == 0;
        plan_combine(plan, o->type, o->combining, to, is_first ? mine : came,
                     is_first ? came : mine, count);
        operation_finish(o, plan, to, count);
        plan_ring_free(plan);
    }
}

_Static_assert((int)SCRATCHES >= (int)SLOTS, "each piece on its way has scratch memory");

// A turn: one part for each rank. The last parts may be shorter or empty.
struct ring_turn {
    size_t first, end, per;
};

static struct number_span ring_plans_part_of(const struct ring_turn *turn, size_t part)
{
    size_t begin = ring_plans_least(turn->first + part * turn->per, turn->end);
    return (struct number_span){begin, ring_plans_least(turn->per, turn->end - begin)};
}

// Each part goes around the ring and every rank adds its contribution. Part p is then complete at
// rank p - 1.
static void reduce_parts(const struct nccl_operation *o, struct rank_plan *plan,
                         const struct ring_turn *turn)
{
    struct number_span own = ring_plans_part_of(turn, behind(plan, 0));
    int ranks = plan->comm->ranks;
    if (own.count)
        plan_ring_put(plan, operation_own(o, plan, own.first, own.count),
                      ring_plans_bytes_of(o, own.count));
    for (int step = 1; step < ranks; step++) {
        struct number_span part = ring_plans_part_of(turn, behind(plan, step));
        CUdeviceptr to = at(o, o->to, part.first);
        if (!part.count)
            continue;
        CUdeviceptr came = plan_ring_await(plan);
        plan_combine(plan, o->type, o->combining, to,
                     operation_own(o, plan, part.first, part.count), came, part.count);
        plan_ring_free(plan);
        if (step == ranks - 1)
            operation_finish(o, plan, to, part.count);
        plan_ring_put(plan, to, ring_plans_bytes_of(o, part.count));
    }
}

static void show_parts(const struct nccl_operation *o, struct rank_plan *plan,
                       const struct ring_turn *turn)
{
    for (int step = 1; step < plan->comm->ranks; step++) {
        struct number_span part = ring_plans_part_of(turn, behind(plan, step - 1));
        if (!part.count)
            continue;
        CUdeviceptr came = plan_ring_await(plan);
        if (step < plan->comm->ranks - 1)
            plan_ring_put(plan, came, ring_plans_bytes_of(o, part.count));
        plan_copy(plan, at(o, o->to, part.first), came, ring_plans_bytes_of(o, part.count));
        plan_ring_free(plan);
    }
}

// Parts begin at multiples of 16 bytes, so that kernels can load 16 bytes at a time.
static size_t numbers_per_part(const struct nccl_operation *o, size_t count, int ranks)
{
    size_t pack = 16 / number_size(o->type), per = (count + (size_t)ranks - 1) / (size_t)ranks;
    return ring_plans_least((per + pack - 1) / pack * pack, piece_numbers(o));
}

static void all_reduce(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                       size_t end)
{
    int ranks = plan->comm->ranks;
    while (first < end) {
        struct ring_turn turn = {first, end, numbers_per_part(o, end - first, ranks)};
        turn.end = ring_plans_least(end, first + turn.per * (size_t)ranks);
        reduce_parts(o, plan, &turn);
        show_parts(o, plan, &turn);
        first = turn.end;
    }
}

// ---- other collectives ----

static void all_gather(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                       size_t end)
{
    plan_copy(plan, at(o, o->to, behind(plan, 0) * o->count + first), at(o, o->from, first),
              ring_plans_bytes_of(o, end - first));
    for (size_t count; first < end; first += count) {
        count = ring_plans_least(end - first, piece_numbers(o));
        plan_ring_put(plan, at(o, o->from, first), ring_plans_bytes_of(o, count));
        for (int step = 1; step < plan->comm->ranks; step++) {
            CUdeviceptr came = plan_ring_await(plan);
            if (step < plan->comm->ranks - 1)
                plan_ring_put(plan, came, ring_plans_bytes_of(o, count));
            plan_copy(plan, at(o, o->to, behind(plan, step) * o->count + first), came,
                      ring_plans_bytes_of(o, count));
            plan_ring_free(plan);
        }
    }
}

static void reduce_scatter(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                           size_t end)
{
    int ranks = plan->comm->ranks;
    for (size_t count; first < end; first += count) {
        count = ring_plans_least(end - first, piece_numbers(o));
        plan_ring_put(plan, operation_own(o, plan, behind(plan, 1) * o->count + first, count),
                      ring_plans_bytes_of(o, count));
        for (int step = 1; step < ranks; step++) {
            bool is_last = step == ranks - 1;
            CUdeviceptr to = is_last ? at(o, o->to, first)
                                     : channel_scratch(plan->comm, plan->channel, SCRATCH_RESULT);
            CUdeviceptr came = plan_ring_await(plan);
            CUdeviceptr own =
                operation_own(o, plan, behind(plan, step + 1) * o->count + first, count);
            plan_combine(plan, o->type, o->combining, to, own, came, count);
            plan_ring_free(plan);
            if (is_last)
                operation_finish(o, plan, to, count);
            else
                plan_ring_put(plan, to, ring_plans_bytes_of(o, count));
        }
    }
}

static void broadcast(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                      size_t end)
{
    bool is_root = plan->comm->rank == o->root;
    bool is_last = (plan->comm->rank + 1) % plan->comm->ranks == o->root;
    if (is_root)
        plan_copy(plan, at(o, o->to, first), at(o, o->from, first),
                  ring_plans_bytes_of(o, end - first));
    for (size_t count; first < end; first += count) {
        count = ring_plans_least(end - first, piece_numbers(o));
        if (is_root) {
            plan_ring_put(plan, at(o, o->from, first), ring_plans_bytes_of(o, count));
            continue;
        }
        CUdeviceptr came = plan_ring_await(plan);
        if (!is_last)
            plan_ring_put(plan, came, ring_plans_bytes_of(o, count));
        plan_copy(plan, at(o, o->to, first), came, ring_plans_bytes_of(o, count));
        plan_ring_free(plan);
    }
}

// Reduces along the ring to the root. The rank after the root begins.
static void ring_plans_reduce(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                              size_t end)
{
    bool is_root = plan->comm->rank == o->root;
    bool is_first = (int)behind(plan, 1) == o->root;
    for (size_t count; first < end; first += count) {
        count = ring_plans_least(end - first, piece_numbers(o));
        CUdeviceptr own = operation_own(o, plan, first, count);
        if (is_first) {
            plan_ring_put(plan, own, ring_plans_bytes_of(o, count));
            continue;
        }
        CUdeviceptr to = is_root ? at(o, o->to, first)
                                 : channel_scratch(plan->comm, plan->channel, SCRATCH_RESULT);
        CUdeviceptr came = plan_ring_await(plan);
        plan_combine(plan, o->type, o->combining, to, own, came, count);
        plan_ring_free(plan);
        if (is_root)
            operation_finish(o, plan, to, count);
        else
            plan_ring_put(plan, to, ring_plans_bytes_of(o, count));
    }
}

void operation_plan_part(const struct nccl_operation *o, struct rank_plan *plan, size_t first,
                         size_t end)
{
    switch (o->kind) {
    case OPERATION_ALL_REDUCE:
        (plan->comm->ranks == 2 ? exchange_whole : all_reduce)(o, plan, first, end);
        break;
    case OPERATION_REDUCE: ring_plans_reduce(o, plan, first, end); break;
    case OPERATION_BROADCAST: broadcast(o, plan, first, end); break;
    case OPERATION_ALL_GATHER: all_gather(o, plan, first, end); break;
    case OPERATION_REDUCE_SCATTER: reduce_scatter(o, plan, first, end); break;
    case OPERATION_SEND:
    case OPERATION_RECEIVE: break; // go in pairs
    }
}
