// SPDX-License-Identifier: BSD-3-Clause
// Forecasts: all jobs give their GPUs back and take them again in the reverse order of their ends.
// After each, the requests are counted; the difference is what the job takes. So at the end of any
// job there is for each request what the remaining jobs leave.
#include "broker/pool/forecast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/claims.h"
#include "broker/pool/plan.h"
#include "broker/pool/queue.h"
#include "common/base/assert.h"

// A GPU that a next request will have.
struct planned {
    size_t request;
    struct pool_hold hold;
    uint8_t mode; // of the GPU before
};

// The count of one request.
struct estimate {
    const struct request *request;
    size_t place;    // among the requests
    uint32_t *slots; // for each box, how often one GPU of the request fits
    uint32_t each;   // the most of one GPU so far
    uint64_t sum;    // of them; with same_box, of whole requests
    uint64_t count;  // how often the request fits
};

struct foresight {
    struct pool *pool;
    struct forecast *forecast;
    struct planned *planned;
    size_t planned_count;
    uint32_t *slots;  // of all estimates
    bool keeps_aside; // GPUs for suspended leases, which are free just now
};

// ---- holds of jobs ----

void forecast_add_lease(struct forecast *forecast, size_t job, const struct pool_lease *lease,
                        bool lends)
{
    for (size_t i = 0; i < lease->hold_count; i++) {
        const struct pool_hold *hold = &lease->holds[i];
        bool given = lends || (lease->idle && lease->suspension != LEASE_RETURNING);
        struct forecast_hold *entry = &forecast->holds[forecast->hold_count];

        if (!hold->held && (!hold->aside || given))
            continue;
        *entry = (struct forecast_hold){
            .job = job, .hold = *hold, .aside = !hold->held, .mode = hold->gpu->mode};
        entry->hold.target = NULL; // a reservation stays with the lease
        forecast->hold_count++;
    }
}

static void give_all_back(const struct forecast *forecast)
{
    for (size_t i = 0; i < forecast->hold_count; i++)
        pool_give_back(&forecast->holds[i].hold);
}

// As the pool was.
static void take_what_is_held(const struct forecast *forecast)
{
    for (size_t i = 0; i < forecast->hold_count; i++)
        if (forecast->holds[i].aside)
            pool_give_back(&forecast->holds[i].hold);
        else
            pool_take(&forecast->holds[i].hold);
}

// ---- the next requests ----

static void set_planned(struct foresight *foresight, size_t except, bool taken)
{
    for (size_t i = 0; i < foresight->planned_count; i++) {
        struct planned *planned = &foresight->planned[i];
        if (taken && planned->request != except)
            pool_take(&planned->hold);
        else
            pool_give_back(&planned->hold);
    }
}

static void keep_plan(struct foresight *foresight, size_t request, const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct planned *planned = &foresight->planned[foresight->planned_count++];
        planned->request = request;
        planned->hold = plan_hold(&foresight->forecast->requests[request], plan, i);
        planned->mode = planned->hold.gpu->mode;
        pool_take(&planned->hold);
    }
}

// Jobs give their GPUs back in the order of their ends until the request fits. The GPUs that it
// gets are taken, so that the next request is planned beside it.
static void plan_next(struct foresight *foresight, size_t request)
{
    struct forecast *forecast = foresight->forecast;
    const struct request *wanted = &forecast->requests[request];
    size_t left = forecast->hold_count;
    struct plan plan = {0};
    bool found = plan_try(foresight->pool, wanted, forecast->sequence, &plan) == 0;

    while (!found && left > 0) {
        size_t job = forecast->holds[left - 1].job;
        while (left > 0 && forecast->holds[left - 1].job == job)
            pool_give_back(&forecast->holds[--left].hold);
        found = plan_try(foresight->pool, wanted, forecast->sequence, &plan) == 0;
    }
    take_what_is_held(forecast);
    if (found)
        keep_plan(foresight, request, &plan);
    plan_clear(&plan);
}

static int plan_all(struct foresight *foresight)
{
    const struct forecast *forecast = foresight->forecast;
    size_t gpus = 0;

    for (size_t i = 0; i < forecast->next_count; i++) {
        const struct request *request = &forecast->requests[forecast->next[i]];
        for (uint32_t j = 0; j < request->part_count; j++)
            gpus += request->parts[j].count;
    }
    foresight->planned = calloc(gpus + 1, sizeof(*foresight->planned));
    if (!foresight->planned)
        return -ENOMEM;
    for (size_t i = 0; i < forecast->next_count; i++)
        plan_next(foresight, forecast->next[i]);
    return 0;
}

// ---- counting ----

// Returns how often a GPU of the request fits on this one.
static uint32_t slots_of_gpu(const struct pool_gpu *gpu, const struct request *request)
{
    const struct request_part *part = &request->parts[0];
    uint64_t need = part->memory + gpu->context, slots;

    if (!gpu_usable(gpu) || !gpu_takes_mode(gpu, part->mode) || !gpu_takes_tenant(gpu, request) ||
        !gpu_is_kind(request, gpu, pattern_matches(request->model, gpu->model)))
        return 0;
    if (part->mode == GPU_EXCLUSIVE)
        return gpu->holders == 0;
    if (need < part->memory || gpu->reserved + need > gpu->memory)
        return 0;
    slots = gpu_free_bytes(gpu) / need;
    if (request->compute && slots > (100 - gpu->computing) / request->compute)
        slots = (100 - gpu->computing) / request->compute;
    return slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
}

static uint64_t share_of_box(const struct estimate *estimate, uint32_t slots)
{
    return estimate->request->same_box ? slots / estimate->request->parts[0].count : slots;
}

static void estimate_box(const struct pool *pool, struct estimate *estimate, size_t place)
{
    const struct pool_box *box = pool->boxes[place];
    uint32_t slots = 0;

    if (box_matches(estimate->request, box))
        for (uint32_t i = 0; i < box->gpu_count; i++) {
            uint32_t fit = slots_of_gpu(box->gpus[i], estimate->request);
            slots += fit;
            estimate->each = fit > estimate->each ? fit : estimate->each;
        }
    estimate->sum -= share_of_box(estimate, estimate->slots[place]);
    estimate->sum += share_of_box(estimate, slots);
    estimate->slots[place] = slots;
}

// Returns true if so many requests fit of which each needs a box for each of its GPUs.
static bool estimate_spreads(const struct pool *pool, const struct estimate *estimate,
                             uint64_t count)
{
    uint64_t slots = 0;

    for (size_t i = 0; i < pool->box_count; i++)
        slots += estimate->slots[i] < count ? estimate->slots[i] : count;
    return slots >= count * estimate->request->parts[0].count;
}

static uint64_t estimate_count(const struct pool *pool, const struct estimate *estimate)
{
    uint32_t gpus = estimate->request->parts[0].count;
    uint64_t low = 0, high = estimate->sum / gpus;

    if (estimate->request->same_box)
        return estimate->sum;
    if (!estimate->request->different_boxes)
        return high;
    while (low < high) {
        uint64_t middle = (low + high + 1) / 2;
        if (estimate_spreads(pool, estimate, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

// ---- jobs take their GPUs again ----

static void note_takes(struct forecast *forecast, const struct pool *pool,
                       struct estimate *estimate, const struct forecast_hold *hold)
{
    uint64_t count = estimate_count(pool, estimate);

    if (count < estimate->count) {
        uint64_t takes = estimate->count - count;
        forecast->takes[hold->job * forecast->request_count + estimate->place] += (uint32_t)takes;
        if (!hold->aside)
            forecast->total[estimate->place] += takes;
    }
    estimate->count = count;
}

static void take_again(struct foresight *foresight, struct estimate *estimates, size_t count)
{
    struct forecast *forecast = foresight->forecast;

    for (size_t i = 0; i < forecast->hold_count; i++) {
        struct forecast_hold *hold = &forecast->holds[i];
        pool_take(&hold->hold);
        for (size_t j = 0; j < count; j++) {
            estimate_box(foresight->pool, &estimates[j], hold->hold.gpu->box->place);
            note_takes(forecast, foresight->pool, &estimates[j], hold);
        }
    }
}

static void count_now(struct foresight *foresight, const struct estimate *estimate)
{
    struct forecast *forecast = foresight->forecast;
    uint32_t now =
        plan_count(foresight->pool, estimate->request, forecast->sequence, forecast->limit);

    // The estimate leaves out what keeps requests apart, so it is no less than the count.
    RGPU_ASSERT(now <= estimate->count || foresight->keeps_aside);
    forecast->now[estimate->place] = now;
    forecast->total[estimate->place] +=
        now < forecast->limit || estimate->count < now ? now : estimate->count;
}

static void play(struct foresight *foresight, struct estimate *estimates, size_t count)
{
    const struct pool *pool = foresight->pool;

    give_all_back(foresight->forecast);
    for (size_t j = 0; j < count; j++) {
        for (size_t box = 0; box < pool->box_count; box++)
            estimate_box(pool, &estimates[j], box);
        estimates[j].count = estimate_count(pool, &estimates[j]);
        foresight->forecast->each[estimates[j].place] = estimates[j].each;
    }
    take_again(foresight, estimates, count);
    take_what_is_held(foresight->forecast);
    for (size_t j = 0; j < count; j++)
        count_now(foresight, &estimates[j]);
}

static bool is_next(const struct forecast *forecast, size_t request)
{
    for (size_t i = 0; i < forecast->next_count; i++)
        if (forecast->next[i] == request)
            return true;
    return false;
}

static void estimate_begin(struct foresight *foresight, struct estimate *estimate, size_t place)
{
    *estimate = (struct estimate){.request = &foresight->forecast->requests[place],
                                  .place = place,
                                  .slots = foresight->slots + place * foresight->pool->box_count};
}

// A next request may use the GPUs that are planned for it and not those of the other ones; all
// other requests may use none of them.
static int play_all(struct foresight *foresight)
{
    const struct forecast *forecast = foresight->forecast;
    struct estimate *estimates = calloc(forecast->request_count + 1, sizeof(*estimates));
    size_t count = 0;

    foresight->slots =
        calloc(forecast->request_count * foresight->pool->box_count + 1, sizeof(*foresight->slots));
    if (!estimates || !foresight->slots) {
        free(estimates);
        return -ENOMEM;
    }
    for (size_t i = 0; i < forecast->request_count; i++) {
        if (is_next(forecast, i)) {
            estimate_begin(foresight, &estimates[0], i);
            set_planned(foresight, i, true);
            play(foresight, estimates, 1);
        }
    }
    for (size_t i = 0; i < forecast->request_count; i++)
        if (!is_next(forecast, i))
            estimate_begin(foresight, &estimates[count++], i);
    set_planned(foresight, SIZE_MAX, true);
    play(foresight, estimates, count);
    set_planned(foresight, SIZE_MAX, false);
    free(estimates);
    return 0;
}

// ---- GPUs and memory in all ----

static uint64_t memory_for_shares(const struct pool_gpu *gpu)
{
    uint64_t room = gpu_free_bytes(gpu);

    return gpu_usable(gpu) && gpu_takes_mode(gpu, GPU_SHARED) && room > gpu->context
               ? room - gpu->context
               : 0;
}

static uint64_t is_whole(const struct pool_gpu *gpu)
{
    return gpu_usable(gpu) && gpu_takes_mode(gpu, GPU_EXCLUSIVE) && gpu->holders == 0;
}

// A GPU that changes its mode counts in both.
static void sum_up(struct foresight *foresight)
{
    struct forecast *forecast = foresight->forecast;
    const struct pool *pool = foresight->pool;

    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++) {
            forecast->gpus += is_whole(pool->boxes[i]->gpus[j]);
            forecast->memory += memory_for_shares(pool->boxes[i]->gpus[j]);
        }
    give_all_back(forecast);
    for (size_t i = 0; i < forecast->hold_count; i++) {
        struct forecast_hold *hold = &forecast->holds[i];
        const struct pool_gpu *gpu = hold->hold.gpu;

        foresight->keeps_aside |= hold->aside;
        if (hold->aside)
            continue;
        if (hold->hold.mode == GPU_EXCLUSIVE) {
            forecast->gpus++;
            forecast->memory_in_whole += memory_for_shares(gpu);
        } else {
            forecast->memory += hold->hold.memory;
            forecast->gpus_in_shares += is_whole(gpu);
        }
        pool_take(&hold->hold);
    }
    forecast->gpus += forecast->gpus_in_shares;
    forecast->memory += forecast->memory_in_whole;
}

// ---- GPUs that are sought ----

static void mark_request(const struct pool *pool, const struct request *request)
{
    enum gpu_mode mode = request->parts[0].mode;

    for (size_t i = 0; i < pool->box_count; i++) {
        struct pool_box *box = pool->boxes[i];
        for (uint32_t j = 0; box_matches(request, box) && j < box->gpu_count; j++) {
            struct pool_gpu *gpu = box->gpus[j];
            gpu->sought += (gpu->mode == mode || gpu->automatic) &&
                           gpu_is_kind(request, gpu, pattern_matches(request->model, gpu->model));
        }
    }
}

static size_t place_of_next(struct pool *pool, const struct request *request)
{
    size_t place = 0;

    while (place < pool->planned_count &&
           memcmp(&pool->planned[place], request, sizeof(*request)) != 0)
        place++;
    if (place == pool->planned_count)
        pool->planned[pool->planned_count++] = *request;
    return place;
}

static void set_marks(const struct foresight *foresight)
{
    const struct forecast *forecast = foresight->forecast;
    struct pool *pool = foresight->pool;

    for (size_t i = 0; i < forecast->request_count; i++)
        if (forecast->waiting[i])
            mark_request(pool, &forecast->requests[i]);
    for (size_t i = 0; i < foresight->planned_count; i++) {
        const struct planned *planned = &foresight->planned[i];
        planned->hold.gpu->kept =
            (uint8_t)(place_of_next(pool, &forecast->requests[planned->request]) + 1);
    }
    pool->queue->changes += pool->planned_count > 0; // claims depend on what is kept
}

void forecast_forget(struct pool *pool)
{
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            pool->boxes[i]->gpus[j]->sought = pool->boxes[i]->gpus[j]->kept = 0;
    pool->queue->changes += pool->planned_count > 0;
    pool->planned_count = 0;
}

static void restore_modes(const struct foresight *foresight)
{
    for (size_t i = foresight->planned_count; i-- > 0;)
        foresight->planned[i].hold.gpu->mode = foresight->planned[i].mode;
    for (size_t i = 0; i < foresight->forecast->hold_count; i++)
        foresight->forecast->holds[i].hold.gpu->mode = foresight->forecast->holds[i].mode;
}

int forecast_make(struct pool *pool, struct forecast *forecast)
{
    struct foresight foresight = {.pool = pool, .forecast = forecast};
    int error;

    for (size_t i = 0; i < pool->box_count; i++)
        pool->boxes[i]->place = i;
    if (forecast->marks)
        forecast_forget(pool);
    sum_up(&foresight);
    error = plan_all(&foresight);
    if (!error)
        error = play_all(&foresight);
    restore_modes(&foresight);
    if (!error && forecast->marks)
        set_marks(&foresight);
    free(foresight.planned);
    free(foresight.slots);
    return error;
}
