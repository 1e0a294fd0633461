// SPDX-License-Identifier: BSD-3-Clause
// Answers cover only the lease: its GPUs, its part of their memory, and its processes on the
// querying host. Figures of a whole GPU are included only if the lease has the whole GPU.
#include "daemon/rgpud/clients/figures_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/scope.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/clients/admission.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/box/monitor.h"
#include "daemon/rgpud/workers/worker_process.h"
#include "proto/nvml_abi.h"

enum {
    QUERIES_MAX = 4 * BOX_DEVICES_MAX,
    FRESH_MS = 150,          // figures of this age are used again
    GLANCE_TIMEOUT_MS = 500, // timeout of a glance
    NVML_UTILIZATION = 72    // nvmlDeviceGetUtilizationRates, proto/nvml_questions.h
};

static bool is_of_lease(const struct worker_process *worker, const struct session_grant *grant)
{
    return worker->session.id && !strcmp(worker->session.grant.lease, grant->lease);
}

static void add_process(const struct worker_process *worker, const struct box_device *device,
                        struct control_figures *out)
{
    struct figure utilization = worker->utilization[device - device->box->devices];
    uint64_t bytes = figures_taken_by(worker, device);

    if (out->processes_count == sizeof(out->processes) / sizeof(out->processes[0]))
        return;
    out->processes[out->processes_count++] =
        (struct control_lease_process){.pid = worker->session.client_pid,
                                       .memory = bytes ? bytes : worker->session.stats.memory,
                                       .utilization = utilization.known ? (int32_t)utilization.value
                                                                        : -1};
}

// Adds the lease's processes, their memory, and their utilization of the GPU.
static void put_processes(const struct client *client, const struct session_grant *grant,
                          const struct box_device *device,
                          const struct control_figures_query *query, struct control_figures *out)
{
    size_t index = (size_t)(device - device->box->devices);
    const struct worker_process *worker;
    int64_t busy = 0;
    bool reported = true;

    TAILQ_FOREACH(worker, &client->box->workers, link) {
        if (!is_of_lease(worker, grant) || !device_is_granted(&worker->session.grant, device))
            continue;
        out->used += worker->session.stats.memory;
        busy += worker->utilization[index].value;
        reported = reported && worker->utilization[index].known;
        if (!memcmp(worker->session.client_boot_id, query->boot_id, sizeof(query->boot_id)))
            add_process(worker, device, out);
    }
    if (reported)
        out->utilization = busy > 100 ? 100 : (int32_t)busy;
}

static void put_memory(const struct box *box, const struct session_grant *grant, uint32_t place,
                       struct control_figures *out)
{
    const struct box_device *device = grant->devices[place];
    uint64_t used = 0, taken = figures_taken(device);

    out->budget = grant->budgets[place];
    out->memory = out->budget              ? out->budget
                  : device->library_memory ? device->library_memory
                                           : device->info.memory;
    if (out->budget && accounts_lease(box, grant->lease, device->ordinal, &used))
        out->used = used;
    else if (!out->budget && taken)
        out->used = taken;
}

static bool is_of_whole_gpu(unsigned number)
{
    static const unsigned short list[] = NVML_OF_WHOLE_GPUS;

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (list[i] == number)
            return true;
    return false;
}

// Returns the answers for a lease with a share of a GPU. Answers about the whole GPU are left out,
// since they show the activity of others.
static const struct monitor_answers *answers_for_share(const struct monitor_answers *all)
{
    static struct monitor_answers some;
    struct nvml_answer answer;

    some.size = 0;
    for (size_t at = 0; all->size - at >= sizeof(answer);) {
        memcpy(&answer, all->bytes + at, sizeof(answer));
        size_t size = sizeof(answer) + answer.size;
        if (size > all->size - at)
            break;
        if (!is_of_whole_gpu(answer.number)) {
            memcpy(some.bytes + some.size, all->bytes + at, size);
            some.size += size;
        }
        at += size;
    }
    return &some;
}

static void put_answers(const struct box *box, const struct box_device *device,
                        struct control_figures *out)
{
    const struct monitor_answers *answers = out->budget ? answers_for_share(&device->answers)
                                                        : &device->answers;

    if (box->library_answers.size <= NVML_SYSTEM_MAX) {
        out->system = box->library_answers.bytes;
        out->system_size = (uint32_t)box->library_answers.size;
    }
    out->answers = answers->bytes;
    out->answers_size = (uint32_t)answers->size;
}

static void figures_query_fill(const struct client *client, const struct session_grant *grant,
                               const struct control_figures_query *query,
                               struct control_figures *out)
{
    const struct box *box = client->box;
    const struct box_device *device = grant->devices[query->gpu];
    // the identity of the GPU in the lease's programs
    const struct control_device *named = &grant->named[query->gpu]->info;

    *out = (struct control_figures){.magic = CONTROL_MAGIC, .gpus = grant->device_count};
    snprintf(out->box, sizeof(out->box), "%s", box->name);
    out->news_ms = (uint32_t)(box->settings.memory_check / 1000);
    out->cuda_version = box->cuda_version;
    memcpy(out->uuid, named->uuid, sizeof(out->uuid));
    snprintf(out->name, sizeof(out->name), "%s", device->info.name);
    snprintf(out->pci, sizeof(out->pci), "%s", named->pci);
    out->capability = device->info.capability;
    out->number = device->library_number;
    out->instance = device->instance;
    out->utilization = -1;
    put_processes(client, grant, device, query, out);
    put_memory(box, grant, query->gpu, out);
    if (!out->budget && device->utilization.known)
        out->utilization = (int32_t)device->utilization.value;
    put_answers(box, device, out);
}

// Updates the utilization in the library's own answers, so that both agree.
static void refresh_answer(struct box_device *device)
{
    const struct nvml_utilization rates = {(unsigned)device->utilization.value,
                                           (unsigned)device->memory_utilization.value};
    struct monitor_answers *answers = &device->answers;
    struct nvml_answer answer;

    for (size_t at = 0; device->memory_utilization.known && answers->size - at >= sizeof(answer);
         at += sizeof(answer) + answer.size) {
        memcpy(&answer, answers->bytes + at, sizeof(answer));
        if (answer.size > answers->size - at - sizeof(answer))
            return;
        if (answer.number == NVML_UTILIZATION && answer.size == sizeof(rates))
            memcpy(answers->bytes + at + sizeof(answer), &rates, sizeof(rates));
    }
}

static void answer(struct client *client, const struct session_grant *grant,
                   const struct control_figures_query *query)
{
    SCOPED_FREE struct control_figures *figures = malloc(sizeof(*figures));

    if (!figures || query->gpu >= grant->device_count) {
        client_refuse(client, CONTROL_REFUSAL_NO_DEVICE, "no GPU %u is granted to this client",
                      query->gpu);
        return;
    }
    monitor_want_answers(client->box->monitor);
    refresh_answer(grant->devices[query->gpu]);
    figures_query_fill(client, grant, query, figures);
    if (client_reply(client, CONTROL_FIGURES, figures))
        client_free(client);
}

static void answer_now(struct client *client)
{
    struct session_grant grant;

    if (admission_grants(client, &grant))
        answer(client, &grant, &client->query);
}

// ---- fresh figures ----

static void figures_query_answer_all(struct box *box)
{
    struct client *client, *next;

    for (client = TAILQ_FIRST(&box->clients); client; client = next) {
        next = TAILQ_NEXT(client, link);
        bool waits = client->query_waits && client->state != CLIENT_REFUSED;
        client->query_waits = false;
        if (waits)
            answer_now(client);
    }
}

void figures_query_resume(struct box *box)
{
    box->monitor_slow = false;
    if (!box->glance_timeout || !evtimer_pending(box->glance_timeout, NULL))
        return;
    evtimer_del(box->glance_timeout);
    figures_query_answer_all(box);
}

// Handles a timeout. The library may hang together with a GPU; the last figures are then better
// than none.
static void glance_timed_out(evutil_socket_t fd, short events, void *argument)
{
    struct box *box = argument;

    box->monitor_slow = true;
    figures_query_answer_all(box);
}

// Returns true if the client should wait for fresh figures. One glance serves all clients that
// query within a short time. Only client queries request glances.
static bool awaits_figures(struct box *box)
{
    const struct timeval timeout = {.tv_usec = GLANCE_TIMEOUT_MS * 1000};

    if (box->monitor_slow || clock_ms() - box->figures_ms < FRESH_MS)
        return false;
    if (!box->glance_timeout)
        box->glance_timeout = evtimer_new(box->base, glance_timed_out, box);
    if (!box->glance_timeout)
        return false;
    return evtimer_pending(box->glance_timeout, NULL) ||
           (monitor_glance(box->monitor) && !evtimer_add(box->glance_timeout, &timeout));
}

void figures_query_answer(struct client *client)
{
    struct control_figures_query query;

    if (control_decode(&client->frame, CONTROL_FIGURES_QUERY, &query) ||
        query.magic != CONTROL_MAGIC || client->query_waits || ++client->queries > QUERIES_MAX) {
        client_refuse(client, CONTROL_REFUSAL_PROTOCOL, "malformed LOOK, or too many of them");
        return;
    }
    client->query = query;
    client->query_waits = awaits_figures(client->box);
    if (!client->query_waits)
        answer_now(client);
}
