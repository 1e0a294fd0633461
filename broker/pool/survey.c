// SPDX-License-Identifier: BSD-3-Clause
// Skips boxes whose counts show that no GPU fits, so that few GPUs of the pool are read.
#include "broker/pool/survey.h"

#include "broker/pool/claims.h"
#include "broker/pool/near.h"
#include "broker/pool/queue.h"

enum { PREFETCH = 16 }; // boxes ahead

static bool model_matches(struct placement *attempt, const char *model)
{
    if (attempt->model_seen != model) {
        attempt->model_seen = model;
        attempt->model_match = pattern_matches(attempt->request->model, model);
    }
    return attempt->model_match;
}

static bool gpu_matches(struct placement *attempt, const struct pool_gpu *gpu)
{
    return gpu_is_kind(attempt->request, gpu, model_matches(attempt, gpu->model));
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

static bool survey_has_room(const struct placement *attempt, const struct pool_gpu *gpu,
                            const struct request_part *part)
{
    uint64_t taken = gpu->reserved + (attempt->ideal ? 0 : gpu->used);
    uint64_t need = part->memory + gpu->context, alone = gpu->reserved + need;

    if (attempt->ideal ? !gpu_may_take_mode(gpu, part->mode) : !gpu_takes_mode(gpu, part->mode))
        return false;
    if (!attempt->ideal && !gpu_takes_tenant(gpu, attempt->request))
        return false;
    if (part->mode == GPU_EXCLUSIVE)
        return attempt->ideal || gpu->holders == 0;
    return need >= part->memory && alone >= need && alone <= gpu->memory &&
           gpu_promised_bytes(gpu) >= taken + need;
}

bool placement_fits(struct placement *attempt, struct pool_gpu *gpu,
                    const struct request_part *part)
{
    // Cheap checks that mostly fail come first.
    return survey_has_room(attempt, gpu, part) && gpu_matches(attempt, gpu) &&
           (attempt->ideal || request_may_use(attempt->request, gpu)) &&
           !already_planned(attempt, gpu) &&
           (attempt->ideal || (!plans_bar(attempt->pool, attempt->request, gpu) &&
                               !claims_bar(attempt->pool, gpu, attempt->sequence)));
}

// Returns true if the GPUs of a box may have room.
static bool may_have_room(const struct placement *attempt, struct pool_box *box)
{
    if (attempt->ideal || attempt->request->drained)
        return true;
    if (!box_usable(box))
        return false;
    box_count_free(box);
    for (uint32_t i = 0; i < attempt->request->part_count; i++) {
        const struct request_part *part = &attempt->request->parts[i];
        if (part->mode == GPU_EXCLUSIVE ? box->idle[GPU_EXCLUSIVE].count > 0
                                        : box->roomiest >= part->memory)
            return true;
    }
    return false;
}

static uint32_t count_fitting(struct placement *attempt, struct pool_box *box)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < box->gpu_count; i++)
        for (uint32_t j = 0; j < attempt->request->part_count; j++)
            if (placement_fits(attempt, box->gpus[i], &attempt->request->parts[j])) {
                count++;
                break;
            }
    return count;
}

// GPUs are scattered in memory, and reading each GPU of a large pool would take most of the time of
// a request. If the idle GPUs of a box are alike, the box's own count is used instead. Earlier
// requests may claim them, so with a queue one of them is read.
static uint32_t count_alike(struct placement *attempt, const struct idle_gpus *idle,
                            const struct request_part *part)
{
    const struct request *request = attempt->request;

    if (idle->count == 0 || (part->mode == GPU_SHARED && idle->room < part->memory) ||
        idle->memory < request->min_memory || idle->capability < request->min_capability ||
        !parts_are_kind(request, idle->parts) || !model_matches(attempt, idle->model))
        return 0;
    return idle->count;
}

static uint32_t count_in_shares(struct placement *attempt, const struct pool_box *box,
                                const struct request_part *part)
{
    uint32_t count = 0;

    for (uint64_t left = box->in_shares; left; left &= left - 1)
        count += placement_fits(attempt, box->gpus[__builtin_ctzll(left)], part);
    return count;
}

// Returns false if each must be read by itself.
static bool counts_by_box(struct placement *attempt, struct pool_box *box, uint32_t *count)
{
    const struct request_part *part = &attempt->request->parts[0];
    const struct idle_gpus *idle = &box->idle[part->mode];

    if (attempt->ideal || attempt->request->drained || attempt->request->index ||
        attempt->request->part_count != 1 || (idle->count && !idle->sample) ||
        !TAILQ_EMPTY(&attempt->pool->returning))
        return false;
    *count = count_alike(attempt, idle, part);
    if (*count && attempt->waited_for && !placement_fits(attempt, idle->sample, part)) {
        // Requests for an index, and plans of schedulers, claim some of the alike GPUs only.
        if (attempt->pool->queue->indexed || attempt->pool->planned_count)
            return false;
        *count = 0;
    }
    if (part->mode == GPU_SHARED)
        *count += count_in_shares(attempt, box, part);
    return true;
}

// Boxes are scattered in memory too, so the fields that placement reads are prefetched.
static void expect_box(const struct pool *pool, size_t number)
{
    if (number >= pool->box_count)
        return;
    __builtin_prefetch(pool->boxes[number], 1);
    __builtin_prefetch(&pool->boxes[number]->idle[GPU_EXCLUSIVE]);
    __builtin_prefetch(&pool->boxes[number]->idle[GPU_SHARED]);
}

// Counts per box the GPUs that fit some part, once per attempt.
void placement_survey(struct placement *attempt)
{
    for (size_t i = 0; i < attempt->pool->box_count; i++) {
        struct pool_box *box = attempt->pool->boxes[i];

        expect_box(attempt->pool, i + PREFETCH);
        box->scratch_free = box->scratch_planned = 0;
        box->scratch_far = near_distance(attempt->request->near, box);
        box->scratch_match = may_have_room(attempt, box) && box_matches(attempt->request, box);
        if (box->scratch_match && !counts_by_box(attempt, box, &box->scratch_free))
            box->scratch_free = count_fitting(attempt, box);
    }
}
