// SPDX-License-Identifier: BSD-3-Clause
#include "broker/api/pool_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/pool/pool_figures.h"
#include "broker/pool/plan.h"
#include "broker/pool/queue.h"
#include "common/base/clock.h"
#include "common/service/loop_stall.h"
#include "common/service/metrics.h"

static void put_counters(FILE *out, const struct server *server)
{
    const struct broker_counters *count = &server->broker->counters;

#define PUT(name, help) metrics_put(out, #name "_total", "counter", help, (double)count->name);
    BROKER_COUNTERS(PUT)
#undef PUT
    metrics_put(out, "errors_total", "counter", "Changes that the database refused.",
                (double)server->broker->storage.errors);
    metrics_put(out, "requests_total", "counter", "HTTP requests.", (double)server->requests);
    metrics_put(out, "unauthorized_total", "counter", "Requests with wrong credentials.",
                (double)server->unauthorized);
    metrics_put(out, "connections_refused_total", "counter",
                "Connections refused or dropped for want of room.",
                (double)connections_refused(server->connections));
    metrics_put(out, "connections", "gauge", "Connections now.",
                (double)connections_count(server->connections));
    loop_stall_put(out, "broker_");
    metrics_put(out, "events_total", "counter", "Changes in the event log.",
                (double)server->broker->last_event);
}

static void put_leases(FILE *out, const struct pool *pool)
{
    unsigned long counts[LEASE_ENDED + 1] = {0};
    const struct pool_lease *lease;

    TAILQ_FOREACH(lease, &pool->leases, all)
        counts[lease->state]++;
    fprintf(out, "# HELP rgpu_leases Leases by state.\n# TYPE rgpu_leases gauge\n");
    for (int i = LEASE_QUEUED; i < LEASE_ENDED; i++)
        fprintf(out, "rgpu_leases{state=\"%s\"} %lu\n", lease_state_names[i], counts[i]);
}

static void put_gpus(FILE *out, const struct pool *pool)
{
    double memory = 0, budgets = 0;
    unsigned long used = 0, usable = 0, up = 0;

    for (size_t i = 0; i < pool->box_count; i++) {
        const struct pool_box *box = pool->boxes[i];
        up += box->connected;
        for (uint32_t j = 0; j < box->gpu_count; j++) {
            memory += (double)box->gpus[j]->memory;
            budgets += (double)box->gpus[j]->used;
            used += box->gpus[j]->holders > 0;
            usable += gpu_usable(box->gpus[j]);
        }
    }
    metrics_put(out, "boxes", "gauge", "Boxes known.", (double)pool->box_count);
    metrics_put(out, "boxes_connected", "gauge", "Boxes that report.", (double)up);
    metrics_put(out, "gpus", "gauge", "GPUs known.", (double)pool->gpu_count);
    metrics_put(out, "gpus_usable", "gauge", "GPUs that may be granted.", (double)usable);
    metrics_put(out, "gpus_held", "gauge", "GPUs that a lease holds.", (double)used);
    metrics_put(out, "gpu_memory_bytes", "gauge", "Memory of all GPUs.", memory);
    metrics_put(out, "gpu_shares_bytes", "gauge", "Memory promised to shares.", budgets);
}

// Limits of the series of boxes, GPUs and leases: the first by name or age; another series has the
// number of those left out.
enum { BOXES_MAX = 5000, GPUS_MAX = 4096, LEASES_MAX = 1024 };

struct box_figure {
    const char *name, *help;
    double (*value)(const struct pool_box *box);
};

static double box_is_up(const struct pool_box *box)
{
    return box->connected && !box->hung_up;
}

static double box_gpus(const struct pool_box *box)
{
    return box->gpu_count;
}

static double box_held(const struct pool_box *box)
{
    unsigned held = 0;

    for (uint32_t i = 0; i < box->gpu_count; i++)
        held += box->gpus[i]->holders > 0;
    return held;
}

static const struct box_figure box_figures[] = {
    {"pool_box_up", "1 where the box reports.", box_is_up},
    {"pool_box_gpus", "GPUs of the box.", box_gpus},
    {"pool_box_gpus_held", "Those that a lease holds.", box_held},
};

static void put_boxes(FILE *out, const struct pool *pool)
{
    for (size_t f = 0; f < sizeof(box_figures) / sizeof(box_figures[0]); f++) {
        metrics_describe(out, box_figures[f].name, "gauge", box_figures[f].help);
        for (size_t i = 0; i < pool->box_count && i < BOXES_MAX; i++) {
            const char *const labels[][2] = {{"box", pool->boxes[i]->name}};
            metrics_put_sample(out, box_figures[f].name, labels, 1,
                               box_figures[f].value(pool->boxes[i]));
        }
    }
}

static void put_gpu(FILE *out, const char *name, const struct pool_gpu *gpu, double value)
{
    char index[16];
    const char *const labels[][2] = {{"box", gpu->box->name},
                                     {"gpu", index},
                                     {"model", gpu->model}};

    snprintf(index, sizeof(index), "%u", gpu->index);
    metrics_put_sample(out, name, labels, 3, value);
}

static void put_gpu_series(FILE *out, const struct pool *pool, const char *name, const char *help,
                           double (*value)(const struct pool_gpu *gpu))
{
    size_t count = 0;

    metrics_describe(out, name, "gauge", help);
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count && count < GPUS_MAX; j++, count++)
            put_gpu(out, name, pool->boxes[i]->gpus[j], value(pool->boxes[i]->gpus[j]));
}

static const char *pool_metrics_reason_of(const struct drain *drain)
{
    return drain->reason ? drain->reason : "";
}

// Only drained boxes have a series, because the reason is a label that administrators choose
// freely.
static void put_drained_boxes(FILE *out, const struct pool *pool)
{
    metrics_describe(out, "pool_box_drained", "gauge", "1 for each box that is drained, and why.");
    for (size_t i = 0; i < pool->box_count && i < BOXES_MAX; i++) {
        const struct pool_box *box = pool->boxes[i];
        const char *const labels[][2] = {{"box", box->name},
                                         {"reason", pool_metrics_reason_of(&box->drain)}};
        if (box->drained)
            metrics_put_sample(out, "pool_box_drained", labels, 2, 1);
    }
}

static void put_drained_gpu(FILE *out, const struct pool_gpu *gpu)
{
    char index[16];
    const char *const labels[][2] = {{"box", gpu->box->name},
                                     {"gpu", index},
                                     {"reason", pool_metrics_reason_of(&gpu->drain)}};

    snprintf(index, sizeof(index), "%u", gpu->index);
    metrics_put_sample(out, "pool_gpu_drained", labels, 3, 1);
}

static void put_drained_gpus(FILE *out, const struct pool *pool)
{
    size_t count = 0;

    metrics_describe(out, "pool_gpu_drained", "gauge",
                     "1 for each GPU that is drained beside its box, and why.");
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            if (pool->boxes[i]->gpus[j]->drained && count++ < GPUS_MAX)
                put_drained_gpu(out, pool->boxes[i]->gpus[j]);
}

static void put_figure_series(FILE *out, const struct pool *pool, unsigned figure)
{
    size_t count = 0;
    double value;

    metrics_describe(out, figure_rows[figure].metric, "gauge", figure_rows[figure].help);
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count && count < GPUS_MAX; j++, count++)
            if (pool_figures_get(pool->boxes[i]->gpus[j], figure, &value))
                put_gpu(out, figure_rows[figure].metric, pool->boxes[i]->gpus[j], value);
}

static double gpu_leases(const struct pool_gpu *gpu)
{
    return gpu->holders;
}

static double gpu_is_usable(const struct pool_gpu *gpu)
{
    return gpu_usable(gpu);
}

static size_t put_lease_series(FILE *out, const struct pool *pool)
{
    const struct pool_lease *lease;
    size_t count = 0;

    metrics_describe(out, "lease_gpus", "gauge", "GPUs of a lease.");
    TAILQ_FOREACH(lease, &pool->leases, all) {
        char owner[16];
        const char *const labels[][2] = {{"lease", lease->id},
                                         {"owner", owner},
                                         {"state", lease_state_names[lease->state]}};

        if (lease->state == LEASE_QUEUED || count++ >= LEASES_MAX)
            continue;
        snprintf(owner, sizeof(owner), "%u", lease->owner);
        metrics_put_sample(out, "lease_gpus", labels, 3, (double)lease->hold_count);
    }
    return count;
}

static void put_busy_lease(void *out, const char *lease, int64_t owner, int64_t milliseconds)
{
    char number[24];
    const char *const labels[][2] = {{"lease", lease}, {"owner", number}};

    snprintf(number, sizeof(number), "%lld", (long long)owner);
    metrics_put_sample(out, "lease_busy_gpu_seconds_total", labels, 2, (double)milliseconds / 1000);
}

static void put_busy_series(FILE *out, struct store *store)
{
    metrics_describe(out, "lease_busy_gpu_seconds_total", "counter",
                     "Time in which GPUs were busy for a lease, all of its GPUs together.");
    store_busy_of_live(store, LEASES_MAX, put_busy_lease, out);
}

static void put_left_out(FILE *out, const char *kind, size_t count, size_t most)
{
    const char *const labels[][2] = {{"kind", kind}};

    metrics_put_sample(out, "series_left_out", labels, 1,
                       count > most ? (double)(count - most) : 0);
}

static void put_series(FILE *out, const struct pool *pool)
{
    size_t leases;

    put_boxes(out, pool);
    put_drained_boxes(out, pool);
    put_drained_gpus(out, pool);
    put_gpu_series(out, pool, "pool_gpu_leases", "Leases that hold the GPU.", gpu_leases);
    put_gpu_series(out, pool, "pool_gpu_usable", "1 where the GPU may be granted.", gpu_is_usable);
    for (unsigned i = 0; i < POOL_FIGURES; i++)
        put_figure_series(out, pool, i);
    leases = put_lease_series(out, pool);
    metrics_describe(out, "series_left_out", "gauge",
                     "Boxes, GPUs and leases that are too many here.");
    put_left_out(out, "box", pool->box_count, BOXES_MAX);
    put_left_out(out, "gpu", pool->gpu_count, GPUS_MAX);
    put_left_out(out, "lease", leases, LEASES_MAX);
}

// The oldest is the head of the first class.
static void put_queue(FILE *out, const struct pool *pool)
{
    const struct queue_class *first = TAILQ_FIRST(&pool->queue->classes);
    int64_t since = first ? TAILQ_FIRST(&first->waiting)->created : 0, now = clock_wall_seconds();

    metrics_put(out, "queue_length", "gauge", "Requests that wait.", (double)pool->queue->length);
    metrics_put(out, "queue_age_seconds", "gauge", "How long the first of them has waited.",
                since && now > since ? (double)(now - since) : 0);
}

static void put_times(FILE *out, const struct server *server)
{
    metrics_put_histogram(out, "acquire_seconds", "From the head of an acquire to its answer.",
                          &server->acquires);
    metrics_put_histogram(out, "commit_seconds",
                          "Changes of the database, without the disk's sync.",
                          &server->broker->commits);
    metrics_put_histogram(out, "sync_wait_seconds", "How long answers waited for the disk's sync.",
                          &server->sync_waits);
}

char *metrics_text(const struct server *server, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        return NULL;
    put_counters(out, server);
    put_leases(out, server->broker->pool);
    put_gpus(out, server->broker->pool);
    metrics_put(out, "uptime_seconds", "gauge", "Since the broker was started.",
                clock_boot_seconds() - server->started);
    metrics_put(out, "storage_ok", "gauge", "1 where changes can be written.",
                storage_state(&server->broker->storage) == OUTCOME_DONE);
    put_queue(out, server->broker->pool);
    put_times(out, server);
    put_series(out, server->broker->pool);
    put_busy_series(out, server->broker->store);
    metrics_put_process(out, "rgpu-brokerd");
    return fclose(out) == 0 ? text : NULL;
}
