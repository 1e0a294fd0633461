// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/capacity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/explain.h"
#include "broker/pool/forecast.h"
#include "broker/pool/plan.h"
#include "broker/pool/request.h"
#include "common/base/scope.h"

struct sums {
    json_int_t gpus, memory; // free: whole GPUs, bytes that shares may take
    json_int_t known;        // GPUs of the pool, wherever they are
};

static void capacity_add_gpu(const struct pool_gpu *gpu, struct sums *sums)
{
    uint64_t room = gpu_free_bytes(gpu);

    sums->known += gpu->present;
    if (!gpu_usable(gpu))
        return;
    if (gpu_takes_mode(gpu, GPU_EXCLUSIVE))
        sums->gpus += gpu->holders == 0;
    if (gpu_takes_mode(gpu, GPU_SHARED) && room > gpu->context)
        sums->memory += (json_int_t)(room - gpu->context);
}

static struct sums capacity_sum_up(const struct pool *pool)
{
    struct sums sums = {0};

    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            capacity_add_gpu(pool->boxes[i]->gpus[j], &sums);
    return sums;
}

// ---- requests, and what jobs take from them ----

// A key of a job without its last part, and the place of the job in the order of ends.
struct holder_name {
    const char *text;
    size_t size, job;
};

static int order_holders(const void *a, const void *b)
{
    const struct holder_name *left = a, *right = b;
    int order =
        strncmp(left->text, right->text, left->size < right->size ? left->size : right->size);

    return order ? order : (left->size > right->size) - (left->size < right->size);
}

static size_t sort_names(const json_t *holders, struct holder_name *names)
{
    size_t i, count = 0;
    const json_t *entry;

    json_array_foreach(holders, i, entry) {
        const char *text = json_string_value(entry);
        if (text)
            names[count++] = (struct holder_name){text, strlen(text), i};
    }
    qsort(names, count, sizeof(*names), order_holders);
    return count;
}

static bool has_number(const json_t *list, size_t number)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
        if (json_is_integer(entry) && json_integer_value(entry) == (json_int_t)number)
            return true;
    return false;
}

static int compare_holds(const void *a, const void *b)
{
    const struct forecast_hold *left = a, *right = b;

    return (left->job > right->job) - (left->job < right->job);
}

static int find_holds(struct pool *pool, const struct capacity_query *query,
                      struct forecast *forecast)
{
    SCOPED_FREE struct holder_name *names =
        calloc(json_array_size(query->holders) + 1, sizeof(*names));
    size_t count = names ? sort_names(query->holders, names) : 0, holds = 0;
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->leases, all)
        holds += lease->hold_count;
    forecast->holds = calloc(holds + 1, sizeof(*forecast->holds));
    if (!names || !forecast->holds)
        return -ENOMEM;
    TAILQ_FOREACH(lease, &pool->leases, all) {
        const char *slash = lease->key ? strrchr(lease->key, '/') : NULL;
        struct holder_name key = {lease->key, slash ? (size_t)(slash - lease->key) : 0, 0}, *found;
        if (!slash || lease->key_owner != KEYS_OF_SCHEDULERS ||
            !(found = bsearch(&key, names, count, sizeof(key), order_holders)))
            continue;
        forecast_add_lease(forecast, found->job, lease, has_number(query->lenders, found->job));
    }
    qsort(forecast->holds, forecast->hold_count, sizeof(*forecast->holds), compare_holds);
    return 0;
}

// Everything that the forecast points to.
struct sight {
    struct request *requests;
    bool *waiting;
    size_t next[POOL_PLANNED_MAX];
    struct forecast forecast;
};

static int read_requests(const struct capacity_query *query, struct sight *sight, const char **why)
{
    const json_t *entry;
    size_t i, count = json_array_size(query->requests);

    sight->requests = calloc(count + 1, sizeof(*sight->requests));
    sight->waiting = calloc(count + 1, sizeof(*sight->waiting));
    if (!sight->requests || !sight->waiting)
        return -ENOMEM;
    json_array_foreach(query->requests, i, entry) {
        if (request_from_json(entry, &sight->requests[i], why) < 0)
            return -EINVAL;
        sight->waiting[i] = has_number(query->waiting, i);
    }
    json_array_foreach(query->next, i, entry) {
        json_int_t place = json_is_integer(entry) ? json_integer_value(entry) : -1;
        if (place >= 0 && place < (json_int_t)count &&
            sight->forecast.next_count < POOL_PLANNED_MAX)
            sight->next[sight->forecast.next_count++] = (size_t)place;
    }
    return 0;
}

// A scheduler that has no next jobs leaves what is kept for those of another one.
static bool may_mark(const struct pool *pool, const struct capacity_query *query)
{
    return (query->waiting || query->next) &&
           (pool->planned_count == 0 || json_array_size(query->next) > 0 ||
            !strcmp(pool->planned_prefix, query->key_prefix));
}

static int capacity_foresee(struct pool *pool, const struct capacity_query *query,
                            struct sight *sight, const char **why)
{
    struct forecast *forecast = &sight->forecast;
    size_t count = json_array_size(query->requests), jobs = json_array_size(query->holders);
    int error = read_requests(query, sight, why);

    if (error)
        return error;
    forecast->requests = sight->requests;
    forecast->request_count = count;
    forecast->waiting = sight->waiting;
    forecast->marks = may_mark(pool, query);
    forecast->next = sight->next;
    forecast->sequence = query->sequence;
    forecast->limit = query->limit;
    forecast->now = calloc(count + 1, sizeof(*forecast->now));
    forecast->total = calloc(count + 1, sizeof(*forecast->total));
    forecast->each = calloc(count + 1, sizeof(*forecast->each));
    forecast->takes = calloc(count * jobs + 1, sizeof(*forecast->takes));
    if (!forecast->now || !forecast->total || !forecast->each || !forecast->takes)
        return -ENOMEM;
    error = find_holds(pool, query, forecast);
    if (!error)
        error = forecast_make(pool, forecast);
    if (!error && forecast->marks)
        snprintf(pool->planned_prefix, sizeof(pool->planned_prefix), "%s", query->key_prefix);
    return error;
}

static void sight_clear(struct sight *sight)
{
    free(sight->requests);
    free(sight->waiting);
    free(sight->forecast.holds);
    free(sight->forecast.now);
    free(sight->forecast.total);
    free(sight->forecast.each);
    free(sight->forecast.takes);
}

static json_t *view_request(struct pool *pool, const struct forecast *forecast, size_t place)
{
    const struct request *request = &forecast->requests[place];
    bool ever = forecast->now[place] > 0 || plan_is_possible(pool, request);
    json_t *view = json_pack("{s:I, s:I, s:I, s:b}", "now", (json_int_t)forecast->now[place],
                             "total", (json_int_t)forecast->total[place], "each",
                             (json_int_t)forecast->each[place], "ever", ever);
    char why[EXPLAIN_MAX];

    if (!ever) {
        explain_impossible(pool, request, why);
        json_object_set_new(view, "why", json_string(why));
    }
    return view;
}

static json_t *view_requests(struct pool *pool, const struct sight *sight)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sight->forecast.request_count; i++)
        json_array_append_new(list, view_request(pool, &sight->forecast, i));
    return list;
}

// For each job, what it takes from which requests; null where it has no lease.
static json_t *view_holders(const struct sight *sight, size_t jobs)
{
    const struct forecast *forecast = &sight->forecast;
    json_t *list = json_array();
    size_t hold = 0;

    for (size_t job = 0; job < jobs; job++) {
        json_t *takes = json_array();
        bool holds = hold < forecast->hold_count && forecast->holds[hold].job == job;

        for (size_t i = 0; holds && i < forecast->request_count; i++) {
            uint32_t count = forecast->takes[job * forecast->request_count + i];
            if (count)
                json_array_append_new(takes, json_pack("[I, I]", (json_int_t)i, (json_int_t)count));
        }
        json_array_append_new(list, holds ? takes : json_null());
        if (!holds)
            json_decref(takes);
        while (hold < forecast->hold_count && forecast->holds[hold].job == job)
            hold++;
    }
    return list;
}

// ---- leases ----

static void capacity_add_hold(const struct pool_hold *hold, json_int_t *gpus, json_int_t *memory)
{
    if (hold->mode == GPU_EXCLUSIVE)
        ++*gpus;
    else
        *memory += (json_int_t)hold->memory;
}

static json_t *view_lease_sums(const struct pool_lease *lease)
{
    json_int_t gpus = 0, memory = 0, aside_gpus = 0, aside_memory = 0;

    for (size_t i = 0; i < lease->hold_count; i++) {
        if (lease->holds[i].held)
            capacity_add_hold(&lease->holds[i], &gpus, &memory);
        else if (lease->holds[i].aside)
            capacity_add_hold(&lease->holds[i], &aside_gpus, &aside_memory);
    }
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:b}", "id", lease->id, "key",
                     lease->key, "state", lease_state_names[lease->state], "gpus", gpus, "memory",
                     memory, "aside_gpus", aside_gpus, "aside_memory", aside_memory, "suspension",
                     lease_suspension_names[lease->suspension], "not_suspended",
                     lease->refusal ? lease->refusal : "", "idle", lease->idle);
}

static json_t *view_leases(const struct pool *pool, const char *prefix)
{
    json_t *list = json_array();
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->leases, all)
        if (lease->key && lease->key_owner == KEYS_OF_SCHEDULERS &&
            !strncmp(lease->key, prefix, strlen(prefix)))
            json_array_append_new(list, view_lease_sums(lease));
    return list;
}

// ---- leases to preempt ----

static bool capacity_fits(struct pool *pool, const struct request *request, uint64_t sequence)
{
    struct plan plan = {0};
    bool placed = plan_try(pool, request, sequence, &plan) == 0;

    plan_clear(&plan);
    return placed;
}

struct victim {
    struct pool_lease *lease;
    struct pool_hold *before; // its holds, with the GPUs that are reserved for moves
    bool gone;
};

// Fails if memory is exhausted.
static bool capacity_take_out(struct victim *victim)
{
    struct pool_lease *lease = victim->lease;

    if (!victim->before)
        victim->before = calloc(lease->hold_count, sizeof(*victim->before));
    if (!victim->before)
        return false;
    for (size_t i = 0; i < lease->hold_count; i++) {
        victim->before[i] = lease->holds[i];
        pool_give_back(&lease->holds[i]);
    }
    return true;
}

static void capacity_put_back(const struct victim *victim)
{
    for (size_t i = 0; i < victim->lease->hold_count; i++) {
        if (!victim->before[i].held)
            continue;
        pool_take(&victim->lease->holds[i]);
        if (victim->before[i].target)
            pool_reserve(&victim->lease->holds[i], victim->before[i].target);
    }
}

static size_t find_victims(const struct pool *pool, const json_t *keys, struct victim *victims)
{
    size_t i, count = 0;
    const json_t *key;

    json_array_foreach(keys, i, key) {
        const char *text = json_string_value(key);
        struct pool_lease *lease = text ? pool_find_key(pool, KEYS_OF_SCHEDULERS, text) : NULL;
        if (lease && lease->state == LEASE_GRANTED && lease->hold_count)
            victims[count++].lease = lease;
    }
    return count;
}

// Takes leases out of the pool, one after the other, until the request fits, and puts those back
// that were not needed for that, the last of the list first. In the end all are put back: only the
// answer is wanted.
static json_t *choose_victims(struct pool *pool, const struct capacity_query *query,
                              const struct request *request)
{
    struct victim *victims = calloc(json_array_size(query->keys) + 1, sizeof(*victims));
    size_t count = victims ? find_victims(pool, query->keys, victims) : 0, used = 0;
    bool enough = capacity_fits(pool, request, query->sequence);
    json_t *chosen = json_array();

    while (!enough && used < count) {
        victims[used].gone = capacity_take_out(&victims[used]);
        used++;
        enough = capacity_fits(pool, request, query->sequence);
    }
    for (size_t i = used; i-- > 0;) {
        if (!victims[i].gone)
            continue;
        capacity_put_back(&victims[i]);
        victims[i].gone = enough && !capacity_fits(pool, request, query->sequence) &&
                          capacity_take_out(&victims[i]);
    }
    for (size_t i = 0; i < used; i++) {
        if (victims[i].gone) {
            capacity_put_back(&victims[i]);
            json_array_append_new(chosen, json_string(victims[i].lease->key));
        }
        free(victims[i].before);
    }
    free(victims);
    return chosen;
}

static json_t *view_preemption(struct pool *pool, const struct capacity_query *query)
{
    struct request request;
    const char *why;

    if (!query->request || request_from_json(query->request, &request, &why) < 0)
        return json_null();
    return choose_victims(pool, query, &request);
}

json_t *capacity_view(struct pool *pool, const struct capacity_query *query, const char **why)
{
    struct sums sums = capacity_sum_up(pool);
    struct sight sight = {0};
    int error = capacity_foresee(pool, query, &sight, why);
    json_t *view = NULL;

    if (error == -ENOMEM)
        *why = NULL;
    if (!error)
        view = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "known", sums.known, "gpus",
            sums.gpus, "memory", sums.memory, "all_gpus", (json_int_t)sight.forecast.gpus,
            "all_memory", (json_int_t)sight.forecast.memory, "gpus_in_shares",
            (json_int_t)sight.forecast.gpus_in_shares, "memory_in_whole",
            (json_int_t)sight.forecast.memory_in_whole, "requests", view_requests(pool, &sight),
            "holders", view_holders(&sight, json_array_size(query->holders)), "leases",
            view_leases(pool, query->key_prefix), "preempt", view_preemption(pool, query));
    sight_clear(&sight);
    return view;
}
