// SPDX-License-Identifier: BSD-3-Clause
// See gpu_time.h. Where the management library tells how busy each process keeps a GPU, that times the time since the
// reading before is a session's. Where it does not, what the GPU as a whole did is divided equally among the
// sessions that have made calls meanwhile.
#include "daemon/gpu_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"

// ---- processes that have ended ----

// The library goes on telling what they did for a moment.
enum { ENDED_MAX = 1024, ENDED_MS = 30000 };

static struct ended_process {
    pid_t pid;
    int64_t since_ms, ended_ms;
    char lease[128];
} ended[ENDED_MAX];
static unsigned next_ended;

void gpu_time_leave(const struct worker_process *worker)
{
    const struct session_record *session = &worker->session;
    struct ended_process *one = &ended[next_ended++ % ENDED_MAX];

    if (!session->id || !*session->grant.lease)
        return;
    *one = (struct ended_process){.pid = worker->pid,
                                  .since_ms = session->since_ms,
                                  .ended_ms = clock_ms()};
    snprintf(one->lease, sizeof(one->lease), "%s", session->grant.lease);
}

static const struct ended_process *find_ended(pid_t pid)
{
    for (unsigned i = 0; i < ENDED_MAX; i++)
        if (ended[i].pid == pid && clock_ms() - ended[i].ended_ms < ENDED_MS)
            return &ended[i];
    return NULL;
}

// ---- counting ----

static struct gpu_time *of_lease(struct box *box, const char *lease)
{
    struct gpu_time *entry;

    TAILQ_FOREACH(entry, &box->gpu_times, link)
        if (!strcmp(entry->lease, lease))
            return entry;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    snprintf(entry->lease, sizeof(entry->lease), "%s", lease);
    entry->number = ++box->gpu_time_counts;
    TAILQ_INSERT_TAIL(&box->gpu_times, entry, link);
    return entry;
}

static void add(struct box *box, const char *lease, int64_t milliseconds, int64_t percent,
                bool estimated)
{
    struct gpu_time *entry = *lease && percent > 0 && milliseconds > 0 ? of_lease(box, lease)
                                                                       : NULL;

    if (!entry)
        return;
    entry->microseconds += (uint64_t)(milliseconds * percent * 10);
    entry->estimated = entry->estimated || estimated;
    entry->told = false;
}

static bool uses(const struct worker_process *worker, const struct box_device *device)
{
    const struct session_grant *grant = &worker->session.grant;

    for (uint32_t i = 0; worker->session.id && i < grant->device_count; i++)
        if (grant->devices[i] == device)
            return true;
    return false;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// A process cannot have been busy before it had a session.
static void add_process(struct box_device *device, const struct gauge_process *process, int64_t now)
{
    struct box *box = device->box;
    const struct worker_process *worker;
    const struct ended_process *past;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->pid == process->pid) {
            if (worker->session.id)
                add(box, worker->session.grant.lease,
                    now - later(device->figures_ms, worker->session.since_ms),
                    process->utilization.value, false);
            return;
        }
    past = find_ended(process->pid);
    if (past)
        add(box, past->lease, past->ended_ms - later(device->figures_ms, past->since_ms),
            process->utilization.value, false);
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

static void divide(struct box_device *device, int64_t percent, int64_t now)
{
    const struct worker_process *worker;
    unsigned active = count_active(device);

    TAILQ_FOREACH(worker, &device->box->workers, link)
        if (uses(worker, device) && has_called(worker))
            add(device->box, worker->session.grant.lease,
                (now - later(device->figures_ms, worker->session.since_ms)) / active, percent,
                true);
}

void gpu_time_take(struct box_device *device, const struct gauge_round *round, unsigned gpu)
{
    int64_t now = clock_ms();
    bool told = false;

    for (unsigned i = 0; device->figures_ms && i < round->process_count; i++) {
        const struct gauge_process *process = &round->processes[i];
        if (process->gpu != gpu || !process->utilization.known)
            continue;
        told = true;
        add_process(device, process, now);
    }
    if (device->figures_ms && !told && round->gpus[gpu].utilization.known)
        divide(device, round->gpus[gpu].utilization.value, now);
}

void gpu_time_taken(struct box *box)
{
    struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        worker->session.calls_counted = worker->session.stats.calls;
}

// ---- telling ----

static bool has_sessions(const struct box *box, const char *lease)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link)
        if (worker->session.id && !strcmp(worker->session.grant.lease, lease))
            return true;
    return false;
}

// What was done last is told after the session's end.
static bool is_over(const struct box *box, const char *lease)
{
    int64_t now = clock_ms();

    for (unsigned i = 0; i < ENDED_MAX; i++)
        if (ended[i].pid && !strcmp(ended[i].lease, lease) &&
            now - ended[i].ended_ms < 2 * (int64_t)box->settings.memory_check / 1000)
            return false;
    return !has_sessions(box, lease);
}

json_t *gpu_time_report(struct box *box)
{
    json_t *list = json_array();
    struct gpu_time *entry;

    TAILQ_FOREACH(entry, &box->gpu_times, link) {
        entry->told = is_over(box, entry->lease);
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:b, s:b}", "lease", entry->lease,
                                              "count", (json_int_t)entry->number, "milliseconds",
                                              (json_int_t)(entry->microseconds / 1000), "estimated",
                                              entry->estimated, "over", entry->told));
    }
    return list;
}

void gpu_time_reported(struct box *box)
{
    struct gpu_time *entry = TAILQ_FIRST(&box->gpu_times), *next;

    for (; entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (!entry->told)
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
