// SPDX-License-Identifier: BSD-3-Clause
// See look.h. What is told is of the lease alone: its GPUs, its part of their memory, its processes on the host that
// asks. What a GPU as a whole does is told too where the lease has the whole of it.
#include "daemon/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "daemon/accounts.h"
#include "daemon/admission.h"
#include "daemon/broker_agent.h"
#include "daemon/figures.h"
#include "daemon/gauge.h"
#include "daemon/worker_process.h"

enum { LOOKS_MAX = 4 * BOX_DEVICES_MAX };

static bool is_of_lease(const struct worker_process *worker, const struct session_grant *grant)
{
    return worker->session.id && !strcmp(worker->session.grant.lease, grant->lease);
}

static bool uses(const struct worker_process *worker, const struct box_device *device)
{
    const struct session_grant *grant = &worker->session.grant;

    for (uint32_t i = 0; i < grant->device_count; i++)
        if (grant->devices[i] == device)
            return true;
    return false;
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

// The lease's processes, what all of them have allocated, and how busy they keep the GPU.
static void put_processes(const struct client *client, const struct session_grant *grant,
                          const struct box_device *device, const struct control_look *look,
                          struct control_figures *out)
{
    size_t index = (size_t)(device - device->box->devices);
    const struct worker_process *worker;
    int64_t busy = 0;
    bool told = true;

    TAILQ_FOREACH(worker, &client->box->workers, link) {
        if (!is_of_lease(worker, grant) || !uses(worker, device))
            continue;
        out->used += worker->session.stats.memory;
        busy += worker->utilization[index].value;
        told = told && worker->utilization[index].known;
        if (!memcmp(worker->session.client_boot_id, look->boot_id, sizeof(look->boot_id)))
            add_process(worker, device, out);
    }
    if (told)
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

// What others do on the GPU is no affair of who has a share of it.
static const struct gauge_answers *answers_for_share(const struct gauge_answers *all)
{
    static struct gauge_answers some;
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
    const struct gauge_answers *answers = out->budget ? answers_for_share(&device->answers)
                                                      : &device->answers;

    if (box->library_answers.size <= NVML_SYSTEM_MAX) {
        out->system = box->library_answers.bytes;
        out->system_size = (uint32_t)box->library_answers.size;
    }
    out->answers = answers->bytes;
    out->answers_size = (uint32_t)answers->size;
}

static void fill(const struct client *client, const struct session_grant *grant,
                 const struct control_look *look, struct control_figures *out)
{
    const struct box *box = client->box;
    const struct box_device *device = grant->devices[look->gpu];

    *out = (struct control_figures){.magic = CONTROL_MAGIC, .gpus = grant->device_count};
    snprintf(out->box, sizeof(out->box), "%s", box->name);
    out->news_ms = (uint32_t)(box->settings.memory_check / 1000);
    out->cuda_version = box->cuda_version;
    memcpy(out->uuid, device->info.uuid, sizeof(out->uuid));
    snprintf(out->name, sizeof(out->name), "%s", device->info.name);
    snprintf(out->pci, sizeof(out->pci), "%s", device->info.pci);
    out->capability = device->info.capability;
    out->number = device->library_number;
    out->instance = device->instance;
    out->utilization = -1;
    put_processes(client, grant, device, look, out);
    put_memory(box, grant, look->gpu, out);
    if (!out->budget && device->utilization.known)
        out->utilization = (int32_t)device->utilization.value;
    put_answers(box, device, out);
}

static void answer(struct client *client, const struct session_grant *grant,
                   const struct control_look *look)
{
    SCOPED_FREE struct control_figures *figures = malloc(sizeof(*figures));

    if (!figures || look->gpu >= grant->device_count) {
        client_refuse(client, CONTROL_REFUSAL_NO_DEVICE, "no GPU %u is granted to this client",
                      look->gpu);
        return;
    }
    gauge_want_answers(client->box->gauge);
    fill(client, grant, look, figures);
    if (client_reply(client, CONTROL_FIGURES, figures))
        client_free(client);
}

void look_answer(struct client *client)
{
    struct box *box = client->box;
    struct control_look look;
    struct session_grant grant;
    const char *objection;
    char text[400];

    if (control_decode(&client->frame, CONTROL_LOOK, &look) || look.magic != CONTROL_MAGIC ||
        ++client->looks > LOOKS_MAX)
        client_refuse(client, CONTROL_REFUSAL_PROTOCOL, "malformed LOOK, or too many of them");
    else if (!box->devices_known)
        client_refuse(client, CONTROL_REFUSAL_WORKER, "its GPUs are not known yet%s%.300s",
                      *box->probe.last_error ? ": " : "", box->probe.last_error);
    else if (admission_resolve(box, client->ticket, &grant, text, sizeof(text)))
        client_refuse(client, CONTROL_REFUSAL_NO_DEVICE, "%s", text);
    else if ((objection = broker_agent_objection(box, &grant)))
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "%s", objection);
    else
        answer(client, &grant, &look);
}
