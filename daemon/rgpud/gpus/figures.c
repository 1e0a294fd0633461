// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/gpus/figures.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/gpus/shares.h"

// ---- readings ----

static void figures_forget(struct box *box)
{
    struct worker_process *worker;

    for (uint32_t i = 0; i < box->device_count; i++) {
        struct box_device *device = &box->devices[i];
        device->driver_bytes = device->library_memory = 0;
        device->answers.size = 0;
        device->utilization = device->temperature = (struct figure){0};
        device->power = device->processes = (struct figure){0};
        device->memory_utilization = (struct figure){0};
    }
    TAILQ_FOREACH(worker, &box->workers, link) {
        memset(worker->driver_bytes, 0, sizeof(worker->driver_bytes));
        memset(worker->utilization, 0, sizeof(worker->utilization));
    }
}

// Returns the bytes in the session's account at this moment.
static uint64_t held_by(const struct worker_process *worker, const struct box_device *device)
{
    uint64_t bytes = 0;
    bool with_context;

    if (!accounts_read(device->box, worker->session.grant.lease, worker->session.id,
                       device->ordinal, &bytes, &with_context))
        return 0;
    return bytes;
}

static void figures_take_process(struct box_device *device, const struct monitor_process *process)
{
    struct worker_process *worker = worker_process_find(device->box, process->pid);
    size_t index = (size_t)(device - device->box->devices);

    device->processes.value++;
    if (!worker)
        return;
    worker->driver_bytes[index] = process->used;
    worker->held_bytes[index] = held_by(worker, device);
    worker->utilization[index] = process->utilization;
}

static void figures_take_gpu(struct box_device *device, const struct monitor_round *round,
                             unsigned index)
{
    const struct monitor_gpu *gpu = &round->gpus[index];

    gpu_time_take(device, round, index);
    device->figures_ms = clock_ms();
    device->driver_bytes = gpu->used;
    device->held_bytes = accounts_sum(device->box, device->ordinal);
    device->library_number = gpu->number;
    device->library_memory = gpu->total;
    device->answers = gpu->answers;
    device->utilization = gpu->utilization;
    device->memory_utilization = gpu->memory_utilization;
    device->temperature = gpu->temperature;
    device->power = gpu->power;
    device->energy = gpu->energy;
    if (gpu->hidden)
        return;
    device->processes = (struct figure){.known = true};
    for (unsigned i = 0; i < round->process_count; i++)
        if (round->processes[i].gpu == index)
            figures_take_process(device, &round->processes[i]);
}

// Takes the utilization of processes from a glance. If per-process data is available, unlisted
// processes were idle.
static void glance_at_processes(struct box_device *device, const struct monitor_round *round,
                                unsigned index)
{
    struct worker_process *worker;
    size_t place = (size_t)(device - device->box->devices);

    TAILQ_FOREACH(worker, &device->box->workers, link)
        if (worker->utilization[place].known)
            worker->utilization[place].value = 0;
    for (unsigned i = 0; i < round->process_count; i++) {
        const struct monitor_process *process = &round->processes[i];
        worker = process->gpu == index ? worker_process_find(device->box, process->pid) : NULL;
        if (worker)
            worker->utilization[place] = process->utilization;
    }
}

static void glance_at_gpu(struct box_device *device, const struct monitor_round *round,
                          unsigned index)
{
    const struct monitor_gpu *gpu = &round->gpus[index];

    gpu_time_take(device, round, index);
    device->figures_ms = clock_ms();
    device->utilization = gpu->utilization;
    device->memory_utilization = gpu->memory_utilization;
    device->energy = gpu->energy;
    if (!gpu->hidden)
        glance_at_processes(device, round, index);
}

static void take_gpus(struct box *box, const struct monitor_round *round,
                      void (*take)(struct box_device *, const struct monitor_round *, unsigned))
{
    for (uint32_t i = 0; i < box->device_count; i++)
        for (unsigned j = 0; j < round->gpu_count; j++)
            if (!strcmp(round->gpus[j].uuid, box->devices[i].uuid))
                take(&box->devices[i], round, j);
}

static void figures_glance(struct box *box, const struct monitor_round *round)
{
    log_debug("how busy the GPUs are gpus=%u processes=%u", round->gpu_count, round->process_count);
    take_gpus(box, round, glance_at_gpu);
    gpu_time_taken(box);
}

void figures_take(struct box *box, const struct monitor_round *round)
{
    box->figures_ms = clock_ms();
    if (round && round->is_glance) {
        figures_glance(box, round);
        return;
    }
    figures_forget(box);
    box->library_answers.size = 0;
    if (round) {
        box->library_answers = round->system;
        take_gpus(box, round, figures_take_gpu);
    }
    shares_review(box, !round);
    gpu_time_taken(box);
}

// Corrects the library's figure SAID for a change of the account from THEN to NOW. Returns 0 if the
// library has no figure.
static uint64_t since(uint64_t said, uint64_t then, uint64_t now)
{
    if (!said || now >= then)
        return said ? said + (now - then) : 0;
    return said > then - now ? said - (then - now) : now;
}

uint64_t figures_taken(const struct box_device *device)
{
    return since(device->driver_bytes, device->held_bytes,
                 accounts_sum(device->box, device->ordinal));
}

uint64_t figures_taken_by(const struct worker_process *worker, const struct box_device *device)
{
    size_t index = (size_t)(device - device->box->devices);

    return since(worker->driver_bytes[index], worker->held_bytes[index], held_by(worker, device));
}

// ---- sessions ----

uint64_t figures_session_bytes(const struct worker_process *worker)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < worker->box->device_count; i++)
        sum += worker->driver_bytes[i];
    return sum;
}

struct figure figures_session_utilization(const struct worker_process *worker)
{
    const struct session_grant *grant = &worker->session.grant;
    int64_t sum = 0, known = 0;

    for (uint32_t i = 0; i < grant->device_count; i++) {
        struct figure one = worker->utilization[grant->devices[i] - worker->box->devices];
        sum += one.value;
        known += one.known;
    }
    return (struct figure){known > 0, known ? sum / known : 0};
}

bool figures_session_idle(const struct worker_process *worker, uint64_t microseconds)
{
    struct figure busy = figures_session_utilization(worker);

    return clock_ms() - worker->active_ms >= (int64_t)(microseconds / 1000) &&
           (!busy.known || !busy.value);
}

// ---- reports ----

static void figures_show(json_t *object, const char *name, struct figure figure)
{
    if (figure.known)
        json_object_set_new(object, name, json_integer(figure.value));
}

static void show_bytes(json_t *object, uint64_t bytes)
{
    if (bytes)
        json_object_set_new(object, "driver_bytes", json_integer((json_int_t)bytes));
}

void figures_show_device(const struct box_device *device, json_t *object)
{
    show_bytes(object, device->driver_bytes);
    figures_show(object, "utilization", device->utilization);
    figures_show(object, "processes", device->processes);
    figures_show(object, "temperature", device->temperature);
    json_object_set_new(object, "health", json_string(health_word(device)));
    if (device->power.known)
        json_object_set_new(object, "power", json_real((double)device->power.value / 1000));
}

void figures_show_session(const struct worker_process *worker, json_t *object)
{
    show_bytes(object, figures_session_bytes(worker));
    figures_show(object, "utilization", figures_session_utilization(worker));
}
