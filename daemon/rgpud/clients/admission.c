// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/clients/admission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/log.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/suspension/lease_places.h"

int admission_load_keys(struct box *box, const struct box_settings *settings)
{
    struct ticket_keyring ring = {0};

    if (settings->auth == AUTH_TICKET) {
        const char *path = settings->key_file ? settings->key_file : "";
        int err = ticket_keyring_load(path, &ring);
        if (err) {
            config_complain(settings_table, "auth", "key_file", "cannot load key_file=%s: %s", path,
                            ticket_keyring_explain(err));
            return err;
        }
    }
    box->keys = ring;
    return 0;
}

static struct ticket_check circumstances(const struct box *box)
{
    return (struct ticket_check){
        .ring = &box->keys,
        .box = box->name,
        .now = time(NULL),
        .skew = (int64_t)(box->settings.clock_skew / 1000000),
        .max_lifetime = (int64_t)(box->settings.max_ticket_lifetime / 1000000),
    };
}

int admission_recompute(const struct box *box, const void *public_part, size_t size,
                        uint8_t secret[SHA256_SIZE], struct ticket *ticket)
{
    struct ticket_check check = circumstances(box);

    return ticket_recompute(&check, public_part, size, secret, ticket);
}

int admission_check_use(const struct box *box, const struct ticket *ticket)
{
    struct ticket_check check = circumstances(box);

    return ticket_check_use(&check, ticket);
}

// Finds the device by its UUID. The box's own number counts only if the ticket has no UUID.
static struct box_device *admission_find_device(struct box *box, const struct ticket_gpu *gpu)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        struct box_device *device = &box->devices[i];
        if (*gpu->uuid ? !strcasecmp(gpu->uuid, device->uuid) : gpu->index == device->ordinal)
            return device;
    }
    return NULL;
}

static int compare_ordinals(const void *a, const void *b)
{
    const struct ticket_gpu *const *x = a, *const *y = b;

    return (*x)->ordinal < (*y)->ordinal ? -1 : (*x)->ordinal > (*y)->ordinal;
}

// Checks that an instance is the only device. The driver shows a process one instance and no GPU
// beside it.
static int check_instances(const struct session_grant *grant, char *text, size_t size)
{
    for (uint32_t i = 0; grant->device_count > 1 && i < grant->device_count; i++)
        if (grant->devices[i]->instance) {
            snprintf(text, size,
                     "a process can use one instance of a divided GPU, and nothing beside it: the "
                     "lease has %u GPUs of this box, of which %s is one",
                     grant->device_count, grant->devices[i]->uuid);
            return -ENODEV;
        }
    return 0;
}

static int check_health(const struct session_grant *grant, char *text, size_t size)
{
    for (uint32_t i = 0; i < grant->device_count; i++) {
        const char *why = health_objection(grant->devices[i]);
        if (why) {
            snprintf(text, size, "GPU %u is out of service: %s", grant->devices[i]->ordinal, why);
            return -ENODEV;
        }
    }
    return 0;
}

// Applies the ticket's percentage of a GPU: to its multiprocessors under MPS, otherwise to its
// time.
static int choose_bound(const struct box *box, struct session_grant *out, char *text, size_t size)
{
    if (!out->time_share)
        return 0;
    if (mps_serves(out->devices[0], device_set_of(out))) {
        out->part.compute = out->time_share;
        out->time_share = 0;
    } else if (!box->monitor) {
        snprintf(text, size,
                 "a part of the GPU's time (%u%%) needs its figures, which this box does not take "
                 "(memory_check = 0)",
                 out->time_share);
        return -ENODEV;
    }
    return 0;
}

static int resolve_ticket(struct box *box, const struct ticket *ticket, struct session_grant *out,
                          char *text, size_t size)
{
    const struct ticket_gpu *order[TICKET_GPUS_MAX];

    snprintf(out->lease, sizeof(out->lease), "%s", ticket->lease);
    out->epoch = ticket->epoch;
    out->owner = ticket->owner;
    out->bandwidth = ticket->bandwidth;
    for (size_t i = 0; i < ticket->gpu_count; i++)
        order[i] = &ticket->gpus[i];
    qsort(order, ticket->gpu_count, sizeof(order[0]), compare_ordinals);
    for (size_t i = 0; i < ticket->gpu_count && i < BOX_DEVICES_MAX; i++) {
        struct box_device *device = admission_find_device(box, order[i]);
        if (!device) {
            snprintf(text, size, "GPU %.127s of the ticket is not offered by this box",
                     order[i]->uuid);
            return -ENODEV;
        }
        out->budgets[out->device_count] = order[i]->memory;
        out->time_share = order[i]->compute;
        out->exclusive[out->device_count] = order[i]->mode == TICKET_EXCLUSIVE;
        out->ordinals[out->device_count] = order[i]->ordinal;
        out->named[out->device_count] = device;
        out->devices[out->device_count++] =
            places_device(box, ticket->lease, order[i]->ordinal, device);
    }
    int err = choose_bound(box, out, text, size);
    if (err)
        return err;
    if (out->part.compute && out->budgets[0])
        out->part.memory = out->budgets[0] + out->devices[0]->info.context_cost;
    return check_instances(out, text, size);
}

int admission_resolve(struct box *box, const struct ticket *ticket, struct session_grant *out,
                      char *text, size_t size)
{
    memset(out, 0, sizeof(*out));
    out->owner = -1;
    if (ticket) {
        int err = resolve_ticket(box, ticket, out, text, size);
        if (err)
            return err;
    } else {
        for (uint32_t i = 0; i < box->device_count; i++)
            if (box_device_is_open(box, i)) {
                out->ordinals[out->device_count] = out->device_count;
                out->named[out->device_count] = &box->devices[i];
                out->devices[out->device_count++] = &box->devices[i];
            }
    }
    if (out->device_count)
        return check_health(out, text, size);
    snprintf(text, size, "no GPU is granted to this client");
    return -ENODEV;
}

bool admission_grants(struct client *client, struct session_grant *out)
{
    struct box *box = client->box;
    const char *objection;
    char text[400];

    if (!box->devices_known)
        client_refuse(client, CONTROL_REFUSAL_WORKER, "its GPUs are not known yet%s%.300s",
                      *box->probe.last_error ? ": " : "", box->probe.last_error);
    else if (admission_resolve(box, client->ticket, out, text, sizeof(text)))
        client_refuse(client, CONTROL_REFUSAL_NO_DEVICE, "%s", text);
    else if ((objection = broker_agent_objection(box, out)))
        client_refuse(client, CONTROL_REFUSAL_AUTHENTICATION, "%s", objection);
    else if (broker_agent_delays(box, out))
        client_refuse(client, CONTROL_REFUSAL_BUSY,
                      "the broker is asked if it knows the lease, since its database was restored: "
                      "try again");
    else
        return true;
    return false;
}
