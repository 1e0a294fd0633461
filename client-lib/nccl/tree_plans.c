// SPDX-License-Identifier: BSD-3-Clause
// Small collectives along a binomial tree: few consecutive steps, all data at once. Ranks are
// numbered from the root; the parent of a number is that number without its lowest bit.
#include "client-lib/nccl/operation.h"

enum { SMALL = 32 << 10 };

bool operation_is_small(const struct nccl_operation *o)
{
    bool has_tree = o->kind == OPERATION_ALL_REDUCE || o->kind == OPERATION_REDUCE ||
                    o->kind == OPERATION_BROADCAST;
    size_t bytes = operation_bytes(o);
    return has_tree && o->comm->ranks > 2 && bytes <= SMALL && bytes <= o->comm->pair_piece;
}

static int tree_plans_number_of(const struct rank_plan *plan, int root)
{
    return (plan->comm->rank - root + plan->comm->ranks) % plan->comm->ranks;
}

static int rank_of(const struct rank_plan *plan, int root, int number)
{
    return (root + number) % plan->comm->ranks;
}

// Returns the lowest bit of NUMBER; for the root, a bit above all numbers.
static int lowest_bit(const struct rank_plan *plan, int number)
{
    int bit = 1;
    while (bit < plan->comm->ranks && !(number & bit))
        bit *= 2;
    return bit;
}

// Combines the contributions of this rank and the ranks below it. The root stores the result in TO.
static void gather_up(const struct nccl_operation *o, struct rank_plan *plan, int root)
{
    int number = tree_plans_number_of(plan, root), own_bit = lowest_bit(plan, number);
    CUdeviceptr sum = operation_own(o, plan, 0, o->count);
    CUdeviceptr to = number ? channel_scratch(plan->comm, plan->channel, SCRATCH_RESULT) : o->to;
    for (int bit = 1; bit < own_bit && number + bit < plan->comm->ranks; bit *= 2) {
        int child = rank_of(plan, root, number + bit);
        CUdeviceptr came = plan_pair_await(plan, child);
        plan_combine(plan, o->type, o->combining, to, sum, came, o->count);
        plan_pair_free(plan, child);
        sum = to;
    }
    if (number)
        plan_pair_put(plan, rank_of(plan, root, number - own_bit), sum, operation_bytes(o));
    else
        operation_finish(o, plan, to, o->count);
}

// Copies the data in the root's FROM to the TO of all ranks.
static void hand_down(const struct nccl_operation *o, struct rank_plan *plan, int root,
                      CUdeviceptr from)
{
    int number = tree_plans_number_of(plan, root), own_bit = lowest_bit(plan, number);
    int parent = rank_of(plan, root, number - own_bit);
    size_t bytes = operation_bytes(o);
    if (number)
        from = plan_pair_await(plan, parent);
    for (int bit = own_bit / 2; bit; bit /= 2)
        if (number + bit < plan->comm->ranks)
            plan_pair_put(plan, rank_of(plan, root, number + bit), from, bytes);
    plan_copy(plan, o->to, from, bytes);
    if (number)
        plan_pair_free(plan, parent);
}

void operation_plan_tree(const struct nccl_operation *o, struct rank_plan *plan)
{
    if (o->kind == OPERATION_BROADCAST) {
        hand_down(o, plan, o->root, o->from);
        return;
    }
    int root = o->kind == OPERATION_REDUCE ? o->root : 0;
    gather_up(o, plan, root);
    if (o->kind == OPERATION_ALL_REDUCE)
        hand_down(o, plan, root, o->to);
}

void operation_plan_alone(const struct nccl_operation *o, struct rank_plan *plan)
{
    if (o->is_scaled)
        plan_combine(plan, o->type, COMBINE_SCALED, o->to, o->from, operation_scalar(o, plan),
                     o->count);
    else
        plan_copy(plan, o->to, o->from, operation_bytes(o));
}
