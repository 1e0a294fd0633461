// SPDX-License-Identifier: BSD-3-Clause
// Placement of requests: which GPUs fit, and which of those a policy prefers.
#include "broker/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/claims.h"
#include "broker/near.h"

// One attempt. `ideal` asks what would be possible in an empty pool with everything in service.
struct placement {
    struct pool *pool;
    const struct request *request;
    uint64_t sequence;
    bool ideal;
    uint32_t order[REQUEST_PARTS_MAX]; // parts, the hardest to place first
    const char *model_seen;            // cache of the last glob: models are interned
    bool model_match;
    struct plan_slot *slots;
    size_t count;
};

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

static bool gpu_matches(struct placement *attempt, const struct pool_gpu *gpu)
{
    if (attempt->model_seen != gpu->model) {
        attempt->model_seen = gpu->model;
        attempt->model_match = pattern_matches(attempt->request->model, gpu->model);
    }
    return gpu_is_kind(attempt->request, gpu, attempt->model_match);
}

static bool already_planned(const struct placement *attempt, const struct pool_gpu *gpu)
{
    if (gpu->box->scratch_planned == 0)
        return false;
    for (size_t i = 0; i < attempt->count; i++)
        if (attempt->slots[i].gpu == gpu)
            return true;
    return false;
}

static bool has_room(const struct placement *attempt, const struct pool_gpu *gpu,
                     const struct request_part *part)
{
    uint64_t taken = gpu->reserved + (attempt->ideal ? 0 : gpu->used);
    uint64_t need = part->memory + gpu->context;

    // A GPU's mode is the administrator's to change, so in the ideal it does not count.
    if (!attempt->ideal && !gpu_takes_mode(gpu, part->mode))
        return false;
    if (part->mode == GPU_EXCLUSIVE)
        return attempt->ideal || gpu->holders == 0;
    return need >= part->memory && gpu->memory >= taken && gpu->memory - taken >= need;
}

static bool fits(struct placement *attempt, struct pool_gpu *gpu, const struct request_part *part)
{
    // Cheap checks that mostly fail come first.
    return has_room(attempt, gpu, part) && gpu_matches(attempt, gpu) &&
           (attempt->ideal || gpu_usable(gpu)) && !already_planned(attempt, gpu) &&
           (attempt->ideal || !claims_bar(attempt->pool, gpu, attempt->sequence));
}

// Whether it is worth looking at the GPUs of a box.
static bool may_have_room(const struct placement *attempt, struct pool_box *box)
{
    if (attempt->ideal)
        return true;
    if (!box_usable(box))
        return false;
    box_count_free(box);
    for (uint32_t i = 0; i < attempt->request->part_count; i++) {
        const struct request_part *part = &attempt->request->parts[i];
        if (part->mode == GPU_EXCLUSIVE ? box->idle > 0 : box->roomiest >= part->memory)
            return true;
    }
    return false;
}

// Where whole GPUs are asked for, one idle GPU of a box stands for all that are like it: GPUs lie anywhere in
// memory, and a look at each of a large pool would take most of the time of a request.
static bool counts_by_box(const struct placement *attempt)
{
    return !attempt->ideal && attempt->request->part_count == 1 &&
           attempt->request->parts[0].mode == GPU_EXCLUSIVE;
}

static uint32_t count_fitting(struct placement *attempt, struct pool_box *box)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < box->gpu_count; i++)
        for (uint32_t j = 0; j < attempt->request->part_count; j++)
            if (fits(attempt, box->gpus[i], &attempt->request->parts[j])) {
                count++;
                break;
            }
    return count;
}

// Counts per box the GPUs that fit some part, once per attempt.
static void survey(struct placement *attempt)
{
    bool by_box = counts_by_box(attempt);

    for (size_t i = 0; i < attempt->pool->box_count; i++) {
        struct pool_box *box = attempt->pool->boxes[i];

        box->scratch_free = box->scratch_planned = 0;
        box->scratch_far = near_distance(attempt->request->near, box);
        box->scratch_match = may_have_room(attempt, box) && box_matches(attempt->request, box);
        if (box->scratch_match && by_box && box->sample)
            box->scratch_free = fits(attempt, box->sample, &attempt->request->parts[0]) ? box->idle
                                                                                        : 0;
        else if (box->scratch_match)
            box->scratch_free = count_fitting(attempt, box);
    }
}

// Lower is better, compared in order. A share that would take a whole GPU out of those for exclusive
// leases goes where others are, unless it is to be spread.
struct score {
    int64_t first, second, third;
    bool opens;
    uint32_t far;
};

static bool better(const struct score *a, const struct score *b)
{
    if (a->opens != b->opens)
        return b->opens;
    if (a->far != b->far)
        return a->far < b->far;
    if (a->first != b->first)
        return a->first < b->first;
    if (a->second != b->second)
        return a->second < b->second;
    return a->third < b->third;
}

static bool opens(const struct pool_gpu *gpu, const struct request_part *part)
{
    return part->mode == GPU_SHARED && gpu->automatic && gpu->holders == 0;
}

static struct score score_gpu(const struct placement *attempt, const struct pool_gpu *gpu,
                              const struct request_part *part)
{
    const struct pool_box *box = gpu->box;
    int64_t room = (int64_t)gpu_free_bytes(gpu);
    bool opening = opens(gpu, part);

    switch (attempt->request->policy) {
    case POLICY_PACK:
        return (struct score){-(int64_t)box->scratch_planned, -(int64_t)box->scratch_free, room,
                              opening, box->scratch_far};
    case POLICY_SPREAD:
        return (struct score){box->scratch_planned, box->holders, -room, false, box->scratch_far};
    case POLICY_BEST_FIT:
        return (struct score){room, box->scratch_free, 0, opening, box->scratch_far};
    }
    return (struct score){0, 0, 0, false, 0};
}

static struct pool_gpu *best_in_box(struct placement *attempt, struct pool_box *box,
                                    const struct request_part *part, struct score *best)
{
    struct pool_gpu *chosen = NULL;

    if (!box->scratch_match || box->scratch_free == 0 ||
        (attempt->request->different_boxes && box->scratch_planned > 0))
        return NULL;
    for (uint32_t i = 0; i < box->gpu_count; i++) {
        struct score score;

        if (!fits(attempt, box->gpus[i], part))
            continue;
        score = score_gpu(attempt, box->gpus[i], part);
        if (!chosen || better(&score, best)) {
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
            struct pool_gpu *gpu = best_in_box(attempt, box, part, &score);
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

static uint32_t count_opened(const struct placement *attempt)
{
    uint32_t count = 0;

    for (size_t i = 0; attempt->request->policy != POLICY_SPREAD && i < attempt->count; i++)
        count += opens(attempt->slots[i].gpu, &attempt->request->parts[attempt->slots[i].part]);
    return count;
}

// Of two boxes that can take all of it, the nearer, then the fuller, or for `spread` the less used.
static bool is_worse(const struct request *request, const struct pool_box *box,
                     const struct pool_box *best)
{
    if (box->scratch_far != best->scratch_far)
        return box->scratch_far > best->scratch_far;
    return request->policy == POLICY_SPREAD ? box->holders >= best->holders
                                            : box->scratch_free >= best->scratch_free;
}

// Among boxes that can take all of it: one whose GPUs for exclusive leases stay, of those the best.
static bool place_on_one_box(struct placement *attempt)
{
    uint32_t total = total_count(attempt->request), best_opened = 0;
    struct pool_box *best = NULL;

    for (size_t i = 0; i < attempt->pool->box_count; i++) {
        struct pool_box *box = attempt->pool->boxes[i];
        uint32_t opened;
        bool placed, worse;

        if (!box->scratch_match || box->scratch_free < total)
            continue;
        worse = best && is_worse(attempt->request, box, best);
        if (worse && best_opened == 0)
            continue;
        placed = place_in_box(attempt, box);
        opened = count_opened(attempt);
        forget_slots(attempt);
        if (!placed || (best && (opened > best_opened || (opened == best_opened && worse))))
            continue;
        best = box;
        best_opened = opened;
    }
    return best && place_in_box(attempt, best);
}

static bool place_one(struct placement *attempt, uint32_t number)
{
    const struct request_part *part = &attempt->request->parts[number];
    struct pool_gpu *chosen = NULL;
    struct score best = {0, 0, 0, false, 0};

    for (size_t i = 0; i < attempt->pool->box_count; i++) {
        struct score score;
        struct pool_gpu *gpu = best_in_box(attempt, attempt->pool->boxes[i], part, &score);
        if (gpu && (!chosen || better(&score, &best))) {
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
    survey(attempt);
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
    struct placement attempt = {.pool = pool, .request = request, .sequence = sequence};

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

    // Where one kind of GPU anywhere is asked for, counting is enough.
    if (request->part_count == 1 && !request->same_box && !request->different_boxes) {
        survey(&attempt);
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
    };
}

// Each plan is taken for the time of the next; what was taken is given back before returning.
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
