// SPDX-License-Identifier: BSD-3-Clause
// If the library reports the utilization of each process, the GPU time of a session is that figure
// times the time since the last reading. Otherwise the activity of the GPU is divided equally among
// the sessions that have made calls since.
#include "daemon/rgpud/gpus/gpu_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

// ---- counting ----

struct gpu_time *gpu_time_find(struct box *box, const char *lease)
{
    struct gpu_time *entry;

    TAILQ_FOREACH(entry, &box->gpu_times, link)
        if (!strcmp(entry->lease, lease))
            return entry;
    return NULL;
}

static struct gpu_time *of_lease(struct box *box, const char *lease)
{
    struct gpu_time *entry = gpu_time_find(box, lease);

    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    snprintf(entry->lease, sizeof(entry->lease), "%s", lease);
    entry->number = ++box->gpu_time_counts;
    TAILQ_INSERT_TAIL(&box->gpu_times, entry, link);
    return entry;
}

static void gpu_time_add(struct box *box, const char *lease, int64_t milliseconds, int64_t percent,
                         bool estimated)
{
    struct gpu_time *entry = *lease && percent > 0 && milliseconds > 0 ? of_lease(box, lease)
                                                                       : NULL;

    if (!entry)
        return;
    entry->microseconds += (uint64_t)(milliseconds * percent * 10);
    entry->estimated = entry->estimated || estimated;
    entry->reported = false;
}

static bool uses(const struct worker_process *worker, const struct box_device *device)
{
    return worker->session.id && device_is_granted(&worker->session.grant, device);
}

// Returns the time since the last reading or since the session's start, whichever is shorter.
static int64_t time_of(const struct box_device *device, const struct worker_process *worker,
                       int64_t now)
{
    int64_t since = worker->session.since_ms;

    return now - (since > device->figures_ms ? since : device->figures_ms);
}

static bool has_called(const struct worker_process *worker)
{
    return worker->session.stats.calls != worker->session.calls_counted;
}

static unsigned count_active(const struct box_device *device)
{
    const struct worker_process *worker;
    unsigned count = 0;

    TAILQ_FOREACH(worker, &device->box->workers, link)
        count += uses(worker, device) && has_called(worker);
    return count;
}

static void gpu_time_divide(struct box_device *device, int64_t percent, int64_t now)
{
    const struct worker_process *worker;
    unsigned active = count_active(device);

    TAILQ_FOREACH(worker, &device->box->workers, link)
        if (uses(worker, device) && has_called(worker))
            gpu_time_add(device->box, worker->session.grant.lease,
                         time_of(device, worker, now) / active, percent, true);
}

// Adds a session's part of the energy that the device has used in so much time, unless it has a
// share of the device: what one of several leases uses is not known.
static void add_energy(const struct box_device *device, const struct worker_process *worker,
                       int64_t millijoules, int64_t milliseconds)
{
    const struct session_grant *grant = &worker->session.grant;
    int64_t sessions = device->sessions ? device->sessions : 1;
    struct gpu_time *entry = NULL;

    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i] == device && !grant->budgets[i] && *grant->lease && millijoules > 0)
            entry = of_lease(device->box, grant->lease);
    if (!entry || milliseconds <= 0)
        return;
    entry->millijoules +=
        (uint64_t)(millijoules * time_of(device, worker, clock_ms()) / milliseconds / sessions);
    entry->reported = false;
}

static void take_energy(const struct box_device *device, struct figure energy, int64_t now)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &device->box->workers, link)
        if (uses(worker, device) && energy.known && device->energy.known)
            add_energy(device, worker, energy.value - device->energy.value,
                       now - device->figures_ms);
}

void gpu_time_take(struct box_device *device, const struct monitor_round *round, unsigned gpu)
{
    int64_t now = clock_ms();
    bool reported = round->is_glance && !round->gpus[gpu].hidden;

    take_energy(device, round->gpus[gpu].energy, now);

    for (unsigned i = 0; device->figures_ms && i < round->process_count; i++) {
        const struct monitor_process *process = &round->processes[i];
        if (process->gpu != gpu || !process->utilization.known)
            continue;
        const struct worker_process *worker = worker_process_find(device->box, process->pid);
        reported = true;
        if (worker && worker->session.id)
            gpu_time_add(device->box, worker->session.grant.lease, time_of(device, worker, now),
                         process->utilization.value, false);
    }
    if (device->figures_ms && !reported && round->gpus[gpu].utilization.known)
        gpu_time_divide(device, round->gpus[gpu].utilization.value, now);
}

void gpu_time_taken(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        worker->session.calls_counted = worker->session.stats.calls;
}

// The library has no figures of processes that have ended. If the process had a figure, it is
// assumed to have continued at that rate. Otherwise the process gets an equal part of the GPU's
// activity.
void gpu_time_leave(const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    int64_t now = clock_ms();

    for (uint32_t i = 0; worker->session.id && i < grant->device_count; i++) {
        const struct box_device *device = grant->devices[i];
        struct figure own = worker->utilization[device - worker->box->devices];
        int64_t time = time_of(device, worker, now),
                share = device->sessions ? device->sessions : 1;
        if (!device->figures_ms)
            continue;
        if (device->energy.known) // its counter is read again when the session has gone
            add_energy(device, worker, device->power.value, 1000);
        if (own.known && device->figures_ms > worker->session.since_ms)
            gpu_time_add(worker->box, grant->lease, time, own.value, false);
        else if (device->utilization.known)
            gpu_time_add(worker->box, grant->lease, time / share, device->utilization.value, true);
    }
}

// ---- bytes ----

void gpu_time_add_bytes(const struct worker_process *worker, const struct control_stats *now)
{
    const struct session_record *session = &worker->session;
    const struct control_stats *before = &session->stats;
    bool networked = !strcmp(now->transport, "tcp") || !strcmp(now->transport, "rdma");
    uint64_t in = now->bytes_in > before->bytes_in ? now->bytes_in - before->bytes_in : 0;
    uint64_t out = now->bytes_out > before->bytes_out ? now->bytes_out - before->bytes_out : 0;
    struct gpu_time *entry = networked && *session->grant.lease && (in || out)
                                 ? of_lease(worker->box, session->grant.lease)
                                 : NULL;

    if (!entry)
        return;
    entry->bytes_in += in;
    entry->bytes_out += out;
    entry->reported = false;
}

// ---- reports ----

static bool has_sessions(const struct box *box, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && !strcmp(worker->session.grant.lease, lease))
            return true;
    return false;
}

json_t *gpu_time_report(struct box *box)
{
    json_t *list = json_array();
    struct gpu_time *entry;

    TAILQ_FOREACH(entry, &box->gpu_times, link) {
        entry->reported = !has_sessions(box, entry->lease);
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "lease", entry->lease,
                            "count", (json_int_t)entry->number, "milliseconds",
                            (json_int_t)(entry->microseconds / 1000), "millijoules",
                            (json_int_t)entry->millijoules, "bytes_in", (json_int_t)entry->bytes_in,
                            "bytes_out", (json_int_t)entry->bytes_out, "estimated",
                            entry->estimated, "over", entry->reported));
    }
    return list;
}

void gpu_time_reported(struct box *box)
{
    struct gpu_time *entry = TAILQ_FIRST(&box->gpu_times), *next;

    for (; entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (!entry->reported)
            continue;
        TAILQ_REMOVE(&box->gpu_times, entry, link);
        free(entry);
    }
}

void gpu_time_free(struct box *box)
{
    while (!TAILQ_EMPTY(&box->gpu_times)) {
        struct gpu_time *entry = TAILQ_FIRST(&box->gpu_times);
        TAILQ_REMOVE(&box->gpu_times, entry, link);
        free(entry);
    }
}
