// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/capacity.h"

#include <stdlib.h>
#include <string.h>

#include "broker/pool/plan.h"
#include "broker/pool/request.h"

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

static json_t *view_request(struct pool *pool, const struct capacity_query *query,
                            const struct request *request)
{
    uint32_t now = plan_count(pool, request, query->sequence, query->limit);

    return json_pack("{s:I, s:b}", "now", (json_int_t)now, "ever",
                     now > 0 || plan_is_possible(pool, request));
}

static json_t *view_requests(struct pool *pool, const struct capacity_query *query,
                             const char **why)
{
    json_t *list = json_array();
    struct request request;
    const json_t *entry;
    size_t i;

    json_array_foreach(query->requests, i, entry) {
        if (request_from_json(entry, &request, why) < 0) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, view_request(pool, query, &request));
    }
    return list;
}

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

static bool give_or_take(struct pool_lease *lease, bool give, bool *held)
{
    for (size_t i = 0; i < lease->hold_count; i++) {
        if (give) {
            held[i] = lease->holds[i].held;
            pool_give_back(&lease->holds[i]);
        } else if (held[i]) {
            pool_take(&lease->holds[i]);
        }
    }
    return true;
}

static bool capacity_fits(struct pool *pool, const struct request *request, uint64_t sequence)
{
    struct plan plan = {0};
    bool placed = plan_try(pool, request, sequence, &plan) == 0;

    plan_clear(&plan);
    return placed;
}

struct victim {
    struct pool_lease *lease;
    bool held[REQUEST_GPUS_MAX]; // GPUs and memory that it held before
    bool gone;
};

static size_t find_victims(const struct pool *pool, const json_t *keys, struct victim *victims)
{
    size_t i, count = 0;
    const json_t *key;

    json_array_foreach(keys, i, key) {
        const char *text = json_string_value(key);
        struct pool_lease *lease = text ? pool_find_key(pool, KEYS_OF_SCHEDULERS, text) : NULL;
        if (lease && lease->state == LEASE_GRANTED && lease->hold_count <= REQUEST_GPUS_MAX)
            victims[count++].lease = lease;
    }
    return count;
}

// Takes leases out of the pool, one after the other, until the request fits, and puts those back
// that were not needed for that. In the end all are put back: only the answer is wanted.
static json_t *choose_victims(struct pool *pool, const struct capacity_query *query,
                              const struct request *request)
{
    struct victim *victims = calloc(json_array_size(query->keys) + 1, sizeof(*victims));
    size_t count = victims ? find_victims(pool, query->keys, victims) : 0, used = 0;
    bool enough = capacity_fits(pool, request, query->sequence);
    json_t *chosen = json_array();

    while (!enough && used < count) {
        victims[used].gone = give_or_take(victims[used].lease, true, victims[used].held);
        used++;
        enough = capacity_fits(pool, request, query->sequence);
    }
    for (size_t i = 0; i < used; i++) {
        give_or_take(victims[i].lease, false, victims[i].held);
        victims[i].gone = enough && !capacity_fits(pool, request, query->sequence);
        if (victims[i].gone)
            give_or_take(victims[i].lease, true, victims[i].held);
    }
    for (size_t i = 0; i < used; i++) {
        if (!victims[i].gone)
            continue;
        give_or_take(victims[i].lease, false, victims[i].held);
        json_array_append_new(chosen, json_string(victims[i].lease->key));
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
    json_t *requests = view_requests(pool, query, why);

    if (!requests)
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "known", sums.known, "gpus", sums.gpus,
                     "memory", sums.memory, "requests", requests, "leases",
                     view_leases(pool, query->key_prefix), "preempt", view_preemption(pool, query));
}
