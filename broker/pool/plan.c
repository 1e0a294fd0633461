// SPDX-License-Identifier: BSD-3-Clause
// Finds the GPUs that fit a request, and chooses among them by the request's policy.
#include "broker/pool/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/queue.h"
#include "broker/pool/survey.h"

int request_check(const struct request *request, const char **why)
{
    uint64_t total = 0;

    *why = NULL;
    for (uint32_t i = 0; i < request->part_count; i++) {
        const struct request_part *part = &request->parts[i];
        total += part->count;
        if (part->count == 0)
            *why = "a part asks for no GPU";
        else if (part->mode == GPU_SHARED && part->memory == 0)
            *why = "a share needs a memory budget";
        else if (part->mode == GPU_EXCLUSIVE && part->memory != 0)
            *why = "an exclusive GPU has no memory budget";
    }
    if (request->part_count == 0)
        *why = "nothing is asked for";
    else if (total > REQUEST_GPUS_MAX)
        *why = "more GPUs than one lease may have";
    else if (request->same_box && request->different_boxes && total > 1)
        *why = "same box and different boxes exclude each other";
    return *why ? -EINVAL : 0;
}

// Lower is better, compared in order. A share that would make a whole GPU unavailable to exclusive
// leases goes to a GPU with shares, unless shares are to be spread. GPUs that jobs of a scheduler
// wait for are left to these if others will do. If a request wants both shares and whole GPUs, its
// shares, which are placed first, leave those that can be either to its whole GPUs.
struct score {
    int64_t first, second, third;
    bool opens;
    uint32_t far;
    uint32_t sought;
};

static bool plan_better(const struct score *a, const struct score *b)
{
    if (a->opens != b->opens)
        return b->opens;
    if (a->sought != b->sought)
        return a->sought < b->sought;
    if (a->far != b->far)
        return a->far < b->far;
    if (a->first != b->first)
        return a->first < b->first;
    if (a->second != b->second)
        return a->second < b->second;
    return a->third < b->third;
}

static bool plan_opens(const struct placement *attempt, const struct pool_gpu *gpu,
                       const struct request_part *part)
{
    return part->mode == GPU_SHARED && gpu->automatic && (attempt->ideal || gpu->holders == 0);
}

static struct score score_gpu(const struct placement *attempt, const struct pool_gpu *gpu,
                              const struct request_part *part)
{
    const struct pool_box *box = gpu->box;
    int64_t room = (int64_t)gpu_free_bytes(gpu);
    bool opening = plan_opens(attempt, gpu, part);

    switch (attempt->request->policy) {
    case POLICY_PACK:
        return (struct score){-(int64_t)box->scratch_planned,
                              -(int64_t)box->scratch_free,
                              room,
                              opening,
                              box->scratch_far,
                              gpu->sought};
    case POLICY_SPREAD:
        return (struct score){box->scratch_planned,      box->holders,     -room,
                              opening && attempt->mixed, box->scratch_far, gpu->sought};
    case POLICY_BEST_FIT:
        return (struct score){room, box->scratch_free, 0, opening, box->scratch_far, gpu->sought};
    }
    return (struct score){0, 0, 0, false, 0, 0};
}

// Returns a bound that no GPU of the box is better than.
static struct score best_thinkable(const struct placement *attempt, const struct pool_box *box,
                                   const struct request_part *part)
{
    const struct idle_gpus *idle = &box->idle[part->mode];
    bool shared = part->mode == GPU_SHARED, known = !attempt->ideal && (idle->sample || shared);
    int64_t most = !known ? INT64_MAX : (int64_t)(shared ? box->roomiest : idle->free);
    bool all_alike = known && idle->sample && !(shared && box->in_shares);
    int64_t least = all_alike ? (int64_t)idle->free : (int64_t)part->memory;

    switch (attempt->request->policy) {
    case POLICY_PACK:
        return (struct score){-(int64_t)box->scratch_planned,
                              -(int64_t)box->scratch_free,
                              0,
                              false,
                              box->scratch_far,
                              0};
    case POLICY_SPREAD:
        return (
            struct score){box->scratch_planned, box->holders, -most, false, box->scratch_far, 0};
    case POLICY_BEST_FIT:
        return (struct score){least, box->scratch_free, 0, false, box->scratch_far, 0};
    }
    return (struct score){0, 0, 0, false, 0, 0};
}

// The best one that is better than `to_beat`, if that is not NULL.
static struct pool_gpu *best_in_box(struct placement *attempt, struct pool_box *box,
                                    const struct request_part *part, const struct score *to_beat,
                                    struct score *best)
{
    struct score thinkable = best_thinkable(attempt, box, part);
    struct pool_gpu *chosen = NULL;

    if (!box->scratch_match || box->scratch_free == 0 ||
        (attempt->request->different_boxes && box->scratch_planned > 0) ||
        (to_beat && !plan_better(&thinkable, to_beat)))
        return NULL;
    for (uint32_t i = 0; i < box->gpu_count; i++) {
        struct score score;

        if (!placement_fits(attempt, box->gpus[i], part))
            continue;
        score = score_gpu(attempt, box->gpus[i], part);
        if (!chosen || plan_better(&score, best)) {
            chosen = box->gpus[i];
            *best = score;
        }
    }
    return chosen;
}

static void add_slot(struct placement *attempt, struct pool_gpu *gpu, uint32_t part)
{
    attempt->slots[attempt->count++] = (struct plan_slot){.gpu = gpu, .part = part};
    gpu->box->scratch_planned++;
}

static void forget_slots(struct placement *attempt)
{
    for (size_t i = 0; i < attempt->count; i++)
        attempt->slots[i].gpu->box->scratch_planned = 0;
    attempt->count = 0;
}

static bool place_in_box(struct placement *attempt, struct pool_box *box)
{
    for (uint32_t i = 0; i < attempt->request->part_count; i++) {
        const struct request_part *part = &attempt->request->parts[attempt->order[i]];
        for (uint32_t n = 0; n < part->count; n++) {
            struct score score;
            struct pool_gpu *gpu = best_in_box(attempt, box, part, NULL, &score);
            if (!gpu)
                return false;
            add_slot(attempt, gpu, attempt->order[i]);
        }
    }
    return true;
}

static uint32_t total_count(const struct request *request)
{
    uint32_t total = 0;

    for (uint32_t i = 0; i < request->part_count; i++)
        total += request->parts[i].count;
    return total;
}

// Returns what others lose by the slots: idle GPUs that they open for shares, then GPUs that are
// sought.
static uint64_t cost_of_slots(const struct placement *attempt)
{
    uint64_t cost = 0;

    for (size_t i = 0; i < attempt->count; i++) {
        const struct plan_slot *slot = &attempt->slots[i];
        if (attempt->request->policy != POLICY_SPREAD &&
            plan_opens(attempt, slot->gpu, &attempt->request->parts[slot->part]))
            cost += 1ull << 32;
        cost += slot->gpu->sought;
    }
    return cost;
}

// The nearer of two boxes that can take all of it is better, then the fuller, or for `spread` the
// less used.
static bool is_worse(const struct request *request, const struct pool_box *box,
                     const struct pool_box *best)
{
    if (box->scratch_far != best->scratch_far)
        return box->scratch_far > best->scratch_far;
    return request->policy == POLICY_SPREAD ? box->holders >= best->holders
                                            : box->scratch_free >= best->scratch_free;
}

// Chooses, among the boxes that can take the whole request, one where others lose least by it; of
// these the best.
static bool place_on_one_box(struct placement *attempt)
{
    uint32_t total = total_count(attempt->request);
    uint64_t best_cost = 0;
    struct pool_box *best = NULL;

    for (size_t i = 0; i < attempt->pool->box_count; i++) {
        struct pool_box *box = attempt->pool->boxes[i];
        uint64_t cost;
        bool placed, worse;

        if (!box->scratch_match || box->scratch_free < total)
            continue;
        worse = best && is_worse(attempt->request, box, best);
        if (worse && best_cost == 0)
            continue;
        placed = place_in_box(attempt, box);
        cost = cost_of_slots(attempt);
        forget_slots(attempt);
        if (!placed || (best && (cost > best_cost || (cost == best_cost && worse))))
            continue;
        best = box;
        best_cost = cost;
    }
    return best && place_in_box(attempt, best);
}

static bool place_one(struct placement *attempt, uint32_t number)
{
    const struct request_part *part = &attempt->request->parts[number];
    struct pool_gpu *chosen = NULL;
    struct score best = {0, 0, 0, false, 0, 0};

    for (size_t i = 0; i < attempt->pool->box_count; i++) {
        struct score score;
        struct pool_gpu *gpu =
            best_in_box(attempt, attempt->pool->boxes[i], part, chosen ? &best : NULL, &score);
        if (gpu && (!chosen || plan_better(&score, &best))) {
            chosen = gpu;
            best = score;
        }
    }
    if (chosen)
        add_slot(attempt, chosen, number);
    return chosen != NULL;
}

static bool place_anywhere(struct placement *attempt)
{
    for (uint32_t i = 0; i < attempt->request->part_count; i++)
        for (uint32_t n = 0; n < attempt->request->parts[attempt->order[i]].count; n++)
            if (!place_one(attempt, attempt->order[i]))
                return false;
    return true;
}

// The largest budgets first: what takes them takes the smaller ones too, so none is blocked.
static void order_parts(struct placement *attempt)
{
    for (uint32_t i = 1; i < attempt->request->part_count; i++)
        attempt->mixed |= attempt->request->parts[i].mode != attempt->request->parts[0].mode;
    for (uint32_t i = 0; i < attempt->request->part_count; i++) {
        uint32_t at = i;
        while (at > 0 && attempt->request->parts[attempt->order[at - 1]].memory <
                             attempt->request->parts[i].memory) {
            attempt->order[at] = attempt->order[at - 1];
            at--;
        }
        attempt->order[at] = i;
    }
}

static bool attempt_place(struct placement *attempt)
{
    placement_survey(attempt);
    if (attempt->request->same_box)
        return place_on_one_box(attempt);
    if (attempt->request->policy == POLICY_PACK && !attempt->request->different_boxes &&
        place_on_one_box(attempt))
        return true;
    forget_slots(attempt);
    return place_anywhere(attempt);
}

static int compare_slots(const void *a, const void *b)
{
    const struct plan_slot *left = a, *right = b;

    if (left->part != right->part)
        return left->part < right->part ? -1 : 1;
    if (left->gpu->box != right->gpu->box)
        return strcmp(left->gpu->box->name, right->gpu->box->name);
    return left->gpu->index < right->gpu->index ? -1 : 1;
}

enum outcome plan_try(struct pool *pool, const struct request *request, uint64_t sequence,
                      struct plan *plan)
{
    struct placement attempt = {.pool = pool,
                                .request = request,
                                .sequence = sequence,
                                .waited_for = pool->queue->length > 0};

    attempt.slots = calloc(total_count(request), sizeof(*attempt.slots));
    if (!attempt.slots)
        return OUTCOME_NO_MEMORY;
    order_parts(&attempt);
    if (!attempt_place(&attempt)) {
        free(attempt.slots);
        return OUTCOME_BUSY;
    }
    qsort(attempt.slots, attempt.count, sizeof(*attempt.slots), compare_slots);
    *plan = (struct plan){.count = attempt.count, .slots = attempt.slots};
    return OUTCOME_DONE;
}

static uint64_t count_surveyed(const struct pool *pool)
{
    uint64_t count = 0;

    for (size_t i = 0; i < pool->box_count; i++)
        count += pool->boxes[i]->scratch_free;
    return count;
}

bool plan_is_possible(struct pool *pool, const struct request *request)
{
    struct placement attempt = {.pool = pool, .request = request, .ideal = true};
    bool possible;

    // If the request is for one kind of GPU anywhere, counting is enough.
    if (request->part_count == 1 && !request->same_box && !request->different_boxes) {
        placement_survey(&attempt);
        return count_surveyed(pool) >= request->parts[0].count;
    }
    attempt.slots = calloc(total_count(request), sizeof(*attempt.slots));
    if (!attempt.slots)
        return true;
    order_parts(&attempt);
    possible = attempt_place(&attempt);
    free(attempt.slots);
    return possible;
}

enum outcome plan_make(struct pool *pool, const struct request *request, uint64_t sequence,
                       struct plan *plan)
{
    enum outcome error = plan_try(pool, request, sequence, plan);

    return error == OUTCOME_BUSY && !plan_is_possible(pool, request) ? OUTCOME_IMPOSSIBLE : error;
}

void plan_clear(struct plan *plan)
{
    free(plan->slots);
    *plan = (struct plan){0};
}

struct pool_hold plan_hold(const struct request *request, const struct plan *plan, size_t place)
{
    struct pool_gpu *gpu = plan->slots[place].gpu;
    const struct request_part *part = &request->parts[plan->slots[place].part];

    return (struct pool_hold){
        .gpu = gpu,
        .box = gpu->box,
        .ordinal = (uint32_t)place,
        .mode = part->mode,
        .memory = part->memory,
        .context = part->mode == GPU_SHARED ? gpu->context : 0,
        .tenant = request->tenant,
        .compute = request->compute,
    };
}

// Each plan is applied to the pool while the next one is made; all are undone before the return.
uint32_t plan_count(struct pool *pool, const struct request *request, uint64_t sequence,
                    uint32_t limit)
{
    struct trial {
        struct pool_hold hold;
        uint8_t mode; // of the GPU before
    } *trials = calloc((size_t)total_count(request) * limit, sizeof(*trials));
    size_t used = 0;
    uint32_t count = 0;
    struct plan plan;

    for (; trials && count < limit && plan_try(pool, request, sequence, &plan) == 0; count++) {
        for (size_t i = 0; i < plan.count; i++) {
            struct trial *trial = &trials[used++];
            trial->hold = plan_hold(request, &plan, i);
            trial->mode = trial->hold.gpu->mode;
            pool_take(&trial->hold);
        }
        plan_clear(&plan);
    }
    while (used > 0) {
        struct trial *trial = &trials[--used];
        pool_give_back(&trial->hold);
        trial->hold.gpu->mode = trial->mode;
    }
    free(trials);
    return count;
}
