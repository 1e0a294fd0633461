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

// Limits of the series of boxes, drained GPUs and leases: the first by name or age; another series
// has the number of those left out. Boxes export their GPUs one by one (daemon/rgpud/exporter.c).
enum { BOXES_MAX = 5000, GPUS_MAX = 4096, LEASES_MAX = 1024 };

static void put_boxes(FILE *out, const struct pool *pool)
{
    metrics_describe(out, "pool_box_up", "gauge", "1 where the box reports.");
    for (size_t i = 0; i < pool->box_count && i < BOXES_MAX; i++) {
        const struct pool_box *box = pool->boxes[i];
        const char *const labels[][2] = {{"box", box->name}};
        metrics_put_sample(out, "pool_box_up", labels, 1, box->connected && !box->hung_up);
    }
}

// Sums over the GPUs of one model on a box.
struct model_series {
    const char *name, *help;
    enum figure_sum sum;
    // Gets the value of one GPU. Returns false if it is unknown.
    bool (*get)(const struct pool_gpu *gpu, unsigned figure, double *value);
};

static bool gpu_is_one(const struct pool_gpu *gpu, unsigned figure, double *value)
{
    *value = 1;
    return true;
}

static bool gpu_is_held(const struct pool_gpu *gpu, unsigned figure, double *value)
{
    *value = gpu->holders > 0;
    return true;
}

static bool gpu_is_usable(const struct pool_gpu *gpu, unsigned figure, double *value)
{
    *value = gpu_usable(gpu);
    return true;
}

static bool gpu_leases(const struct pool_gpu *gpu, unsigned figure, double *value)
{
    *value = gpu->holders;
    return true;
}

static const struct model_series model_series[] = {
    {"pool_box_gpus", "GPUs of the model on the box.", FIGURE_SUM, gpu_is_one},
    {"pool_box_gpus_held", "Those that a lease holds.", FIGURE_SUM, gpu_is_held},
    {"pool_box_gpus_usable", "Those that may be granted.", FIGURE_SUM, gpu_is_usable},
    {"pool_box_leases", "Leases on them, one for each GPU that it holds.", FIGURE_SUM, gpu_leases},
};

// Sums up the GPUs that have the model of GPU number FIRST. Returns false if no value is known.
static bool sum_model(const struct pool_box *box, uint32_t first, const struct model_series *series,
                      unsigned figure, double *sum)
{
    unsigned known = 0;

    *sum = 0;
    for (uint32_t i = first; i < box->gpu_count; i++) {
        double value;
        if (box->gpus[i]->model != box->gpus[first]->model ||
            !series->get(box->gpus[i], figure, &value))
            continue;
        if (series->sum != FIGURE_MOST)
            *sum += value;
        else if (!known || value > *sum)
            *sum = value;
        known++;
    }
    if (series->sum == FIGURE_MEAN && known)
        *sum /= known;
    return known;
}

static bool is_first_of_model(const struct pool_box *box, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (box->gpus[i]->model == box->gpus[number]->model)
            return false;
    return true;
}

static void put_models(FILE *out, const struct pool *pool, const struct model_series *series,
                       unsigned figure)
{
    metrics_describe(out, series->name, "gauge", series->help);
    for (size_t i = 0; i < pool->box_count && i < BOXES_MAX; i++) {
        const struct pool_box *box = pool->boxes[i];
        for (uint32_t j = 0; j < box->gpu_count; j++) {
            const char *const labels[][2] = {{"box", box->name}, {"model", box->gpus[j]->model}};
            double value;
            if (is_first_of_model(box, j) && sum_model(box, j, series, figure, &value))
                metrics_put_sample(out, series->name, labels, 2, value);
        }
    }
}

static void put_all_models(FILE *out, const struct pool *pool)
{
    for (size_t i = 0; i < sizeof(model_series) / sizeof(model_series[0]); i++)
        put_models(out, pool, &model_series[i], 0);
    for (unsigned i = 0; i < POOL_FIGURES; i++) {
        const struct model_series series = {figure_rows[i].metric, figure_rows[i].help,
                                            figure_rows[i].sum, pool_figures_get};
        put_models(out, pool, &series, i);
    }
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

static size_t put_drained_gpus(FILE *out, const struct pool *pool)
{
    size_t count = 0;

    metrics_describe(out, "pool_gpu_drained", "gauge",
                     "1 for each GPU that is drained beside its box, and why.");
    for (size_t i = 0; i < pool->box_count; i++)
        for (uint32_t j = 0; j < pool->boxes[i]->gpu_count; j++)
            if (pool->boxes[i]->gpus[j]->drained && count++ < GPUS_MAX)
                put_drained_gpu(out, pool->boxes[i]->gpus[j]);
    return count;
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

static void put_busy_lease(void *out, const struct busy_sum *sum)
{
    char number[24];
    const char *const labels[][2] = {{"lease", sum->lease}, {"owner", number}};

    snprintf(number, sizeof(number), "%lld", (long long)sum->owner);
    metrics_put_sample(out, "lease_busy_gpu_seconds_total", labels, 2,
                       (double)sum->milliseconds / 1000);
}

static void put_network_lease(void *out, const struct busy_sum *sum)
{
    char number[24];
    const char *labels[][2] = {{"lease", sum->lease}, {"owner", number}, {"direction", "in"}};

    snprintf(number, sizeof(number), "%lld", (long long)sum->owner);
    metrics_put_sample(out, "lease_network_bytes_total", labels, 3, (double)sum->bytes_in);
    labels[2][1] = "out";
    metrics_put_sample(out, "lease_network_bytes_total", labels, 3, (double)sum->bytes_out);
}

static void put_busy_series(FILE *out, struct store *store)
{
    metrics_describe(out, "lease_busy_gpu_seconds_total", "counter",
                     "Time in which GPUs were busy for a lease, all of its GPUs together.");
    store_busy_of_live(store, LEASES_MAX, put_busy_lease, out);
    metrics_describe(out, "lease_network_bytes_total", "counter",
                     "Bytes that a lease's programs have sent to its boxes over the network (in), "
                     "and received (out).");
    store_busy_of_live(store, LEASES_MAX, put_network_lease, out);
}

static void put_left_out(FILE *out, const char *kind, size_t count, size_t most)
{
    const char *const labels[][2] = {{"kind", kind}};

    metrics_put_sample(out, "series_left_out", labels, 1,
                       count > most ? (double)(count - most) : 0);
}

static void put_series(FILE *out, const struct pool *pool)
{
    size_t leases, drained;

    put_boxes(out, pool);
    put_drained_boxes(out, pool);
    drained = put_drained_gpus(out, pool);
    put_all_models(out, pool);
    leases = put_lease_series(out, pool);
    metrics_describe(out, "series_left_out", "gauge",
                     "Boxes, drained GPUs and leases that are too many here.");
    put_left_out(out, "box", pool->box_count, BOXES_MAX);
    put_left_out(out, "drained gpu", drained, GPUS_MAX);
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

static void put_pool(FILE *out, const struct server *server)
{
    put_counters(out, server);
    put_leases(out, server->broker->pool);
    put_gpus(out, server->broker->pool);
    put_queue(out, server->broker->pool);
    put_times(out, server);
    put_series(out, server->broker->pool);
    put_busy_series(out, server->broker->store);
}

static void put_replication(FILE *out, const struct server *server)
{
    json_t *status = replication_status(server->broker->replication);

    metrics_put(out, "replication_position", "counter",
                "Changes of the pool's log that this broker has.",
                (double)json_integer_value(json_object_get(status, "position")));
    json_decref(status);
}

char *metrics_text(const struct server *server, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        return NULL;
    metrics_put(out, "uptime_seconds", "gauge", "Since the broker was started.",
                clock_boot_seconds() - server->started);
    metrics_put(out, "storage_ok", "gauge", "1 where changes can be written.",
                broker_problem(server->broker) == OUTCOME_DONE);
    metrics_put(out, "leading", "gauge", "1 for the broker that leads, as a lone one does.",
                !server->waiting);
    if (server->broker->replication)
        put_replication(out, server);
    if (!server->waiting)
        put_pool(out, server);
    metrics_put_process(out, "rgpu-brokerd");
    return fclose(out) == 0 ? text : NULL;
}
