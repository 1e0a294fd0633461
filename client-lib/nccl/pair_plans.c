// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives. Those of one group run at the same time: each round first sends a piece to
// every rank that receives one, and then takes a piece of every rank that sends one. So a round
// waits only for earlier rounds of other ranks, and for the first half of the same round.

#include "client-lib/nccl/operation.h"

// The progress of the messages to one rank, or from it, in the order of the calls.
struct messages {
    size_t next; // index of the current operation
    size_t done; // bytes of that operation
};

static bool pair_plans_is_of(const struct nccl_operation *o, enum operation_kind kind, int peer)
{
    return o->kind == kind && o->root == peer && o->count;
}

// Returns the current message, NULL after the last one.
static const struct nccl_operation *current(const struct nccl_operation *all, size_t count,
                                            enum operation_kind kind, int peer, struct messages *at)
{
    while (at->next < count && (!pair_plans_is_of(&all[at->next], kind, peer) ||
                                at->done == operation_bytes(&all[at->next]))) {
        at->next++;
        at->done = 0;
    }
    return at->next < count ? &all[at->next] : NULL;
}

static size_t pair_plans_next_piece(const struct nccl_operation *o, struct messages *at,
                                    size_t most, size_t *offset)
{
    size_t left = operation_bytes(o) - at->done;
    *offset = at->done;
    left = left < most ? left : most;
    at->done += left;
    return left;
}

static bool pair_plans_send_piece(const struct nccl_operation *all, size_t count,
                                  struct rank_plan *plan, int peer, struct messages *at)
{
    const struct nccl_operation *o = current(all, count, OPERATION_SEND, peer, at);
    size_t offset, bytes;
    if (!o)
        return false;
    bytes = pair_plans_next_piece(o, at, plan->comm->pair_piece, &offset);
    plan_pair_put(plan, peer, o->from + offset, bytes);
    return true;
}

static bool pair_plans_take_piece(const struct nccl_operation *all, size_t count,
                                  struct rank_plan *plan, int peer, struct messages *at)
{
    const struct nccl_operation *o = current(all, count, OPERATION_RECEIVE, peer, at);
    size_t offset, bytes;
    if (!o)
        return false;
    bytes = pair_plans_next_piece(o, at, plan->comm->pair_piece, &offset);
    plan_copy(plan, o->to + offset, plan_pair_await(plan, peer), bytes);
    plan_pair_free(plan, peer);
    return true;
}

// Copies a rank's sends to itself. Each send belongs to the receive with the same position among
// the receives; their sizes have been checked.
static void copy_own(const struct nccl_operation *all, size_t count, struct rank_plan *plan)
{
    struct messages sent = {0}, taken = {0};
    int self = plan->comm->rank;
    const struct nccl_operation *from, *to;
    while ((from = current(all, count, OPERATION_SEND, self, &sent)) &&
           (to = current(all, count, OPERATION_RECEIVE, self, &taken))) {
        plan_copy(plan, to->to, from->from, operation_bytes(from));
        sent.done = operation_bytes(from);
        taken.done = operation_bytes(to);
    }
}

void operation_plan_pairs(const struct nccl_operation *all, size_t count, struct rank_plan *plan)
{
    int ranks = plan->comm->ranks, rank = plan->comm->rank;
    struct messages sent[RGPU_MEMBERS_MAX] = {{0}}, taken[RGPU_MEMBERS_MAX] = {{0}};
    copy_own(all, count, plan);
    for (bool any = true; any;) {
        any = false;
        for (int step = 1; step < ranks; step++) {
            int peer = (rank + step) % ranks;
            any |= pair_plans_send_piece(all, count, plan, peer, &sent[peer]);
        }
        for (int step = 1; step < ranks; step++) {
            int peer = (rank + ranks - step) % ranks;
            any |= pair_plans_take_piece(all, count, plan, peer, &taken[peer]);
        }
    }
}
