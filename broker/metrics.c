// SPDX-License-Identifier: BSD-3-Clause
/* The broker's counters and the pool's figures in Prometheus' text format. */
#include "broker/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "broker/plan.h"
#include "broker/queue.h"

static void put(FILE *out, const char *name, const char *type, const char *help, double value)
{
    fprintf(out, "# HELP rgpu_%s %s\n# TYPE rgpu_%s %s\nrgpu_%s %.17g\n", name, help, name, type,
            name, value);
}

static void put_counters(FILE *out, const struct server *server)
{
    const struct broker_counters *count = &server->broker->counters;

    put(out, "grants_total", "counter", "Leases granted.", (double)count->grants);
    put(out, "refusals_total", "counter", "Requests refused for want of GPUs.",
        (double)count->refusals);
    put(out, "queued_total", "counter", "Requests that had to wait.", (double)count->queued);
    put(out, "releases_total", "counter", "Leases whose end was begun.", (double)count->releases);
    put(out, "revocations_total", "counter", "Leases ended by an administrator.",
        (double)count->revocations);
    put(out, "expirations_total", "counter", "Leases that ran out.", (double)count->expirations);
    put(out, "tickets_total", "counter", "Tickets issued.", (double)count->tickets);
    put(out, "errors_total", "counter", "Changes that the database refused.",
        (double)count->errors);
    put(out, "requests_total", "counter", "HTTP requests.", (double)server->requests);
    put(out, "unauthorized_total", "counter", "Requests with wrong credentials.",
        (double)server->unauthorized);
    put(out, "connections_refused_total", "counter", "Connections refused or dropped for want of room.",
        (double)connections_refused(server->connections));
    put(out, "connections", "gauge", "Connections now.",
        (double)connections_count(server->connections));
    put(out, "events_total", "counter", "Changes in the event log.",
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
    put(out, "boxes", "gauge", "Boxes known.", (double)pool->box_count);
    put(out, "boxes_connected", "gauge", "Boxes that report.", (double)up);
    put(out, "gpus", "gauge", "GPUs known.", (double)pool->gpu_count);
    put(out, "gpus_usable", "gauge", "GPUs that may be granted.", (double)usable);
    put(out, "gpus_held", "gauge", "GPUs that a lease holds.", (double)used);
    put(out, "gpu_memory_bytes", "gauge", "Memory of all GPUs.", memory);
    put(out, "gpu_shares_bytes", "gauge", "Memory promised to shares.", budgets);
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (file) {
        if (fscanf(file, "%*u %lu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
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
    put(out, "uptime_seconds", "gauge", "Since the broker was started.",
        broker_steady() - server->started);
    put(out, "resident_bytes", "gauge", "Memory of the broker.", resident_bytes());
    return fclose(out) == 0 ? text : NULL;
}
