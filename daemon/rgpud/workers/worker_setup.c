// SPDX-License-Identifier: BSD-3-Clause
// rgpud links no verbs and does not search for RDMA devices: workers find them by the names in
// SETUP.
#include "daemon/rgpud/workers/worker_setup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/copy_path.h"
#include "daemon/rgpud/workers/client_sockets.h"
#include "daemon/rgpud/box/confinement.h"
#include "daemon/rgpud/box/instances.h"
#include "daemon/rgpud/box/offered_transports.h"

// ---- RDMA ----

static bool parse_ports(const char *text, uint16_t *first, uint16_t *last)
{
    unsigned from, to;
    char rest;

    if (sscanf(text, "%5u-%5u%c", &from, &to, &rest) != 2) {
        if (sscanf(text, "%5u%c", &from, &rest) != 1)
            return false;
        to = from;
    }
    if (!from || from > to || to > UINT16_MAX)
        return false;
    *first = (uint16_t)from;
    *last = (uint16_t)to;
    return true;
}

static bool append_list(char *out, size_t room, char *const *list)
{
    size_t used = strlen(out);

    for (; list && *list; list++) {
        int n = snprintf(out + used, room - used, "%s%s", used ? "," : "", *list);
        if (n < 0 || (size_t)n >= room - used)
            return false;
        used += (size_t)n;
    }
    return true;
}

static bool join_devices(const struct box_settings *settings, char *out, size_t room)
{
    *out = '\0';
    return append_list(out, room, settings->rdma_addresses) &&
           append_list(out, room, settings->rdma_devices);
}

int worker_setup_check(const struct box_settings *settings)
{
    struct control_setup room;
    int err = 0;

    if (settings->rdma_ports &&
        !parse_ports(settings->rdma_ports, &room.rdma_first_port, &room.rdma_last_port)) {
        config_complain(settings_table, "box", "rdma_ports",
                        "rdma_ports: %s is not a port or a range such as 7400-7499",
                        settings->rdma_ports);
        err = -EINVAL;
    }
    if (settings->nccl && *settings->nccl &&
        (settings->nccl[0] != '/' || strlen(settings->nccl) >= PATH_MAX)) {
        config_complain(settings_table, "workers", "nccl",
                        "nccl=%s is not an absolute path of at most %d bytes", settings->nccl,
                        PATH_MAX - 1);
        err = -EINVAL;
    }
    if (copy_path_parse(settings->paths) < 0) {
        config_complain(settings_table, "box", "paths",
                        "paths=%s is neither auto nor a list of " PATH_WORDS, settings->paths);
        err = -EINVAL;
    }
    if (settings->client_sockets && (settings->client_sockets[0] != '/' ||
                                     strlen(settings->client_sockets) >= CLIENT_SOCKETS_ROOM)) {
        config_complain(settings_table, "box", "client_sockets",
                        "client_sockets=%s is not an absolute path of at most %zu bytes",
                        settings->client_sockets, (size_t)CLIENT_SOCKETS_ROOM - 1);
        err = -EINVAL;
    }
    if (!join_devices(settings, room.rdma_devices, sizeof(room.rdma_devices))) {
        config_complain(settings_table, "box", "rdma_devices",
                        "rdma_addresses and rdma_devices together are too long");
        err = -EINVAL;
    }
    return err;
}

static void fill_transports(const struct box *box, struct control_setup *out)
{
    const struct box_settings *settings = &box->settings;
    static uint32_t turn;

    out->transports_count = transports_allowed(settings, out->transports);
    out->rdma_turn = turn++;
    out->fabric = settings->rdma;
    join_devices(settings, out->rdma_devices, sizeof(out->rdma_devices));
    if (settings->rdma_ports)
        parse_ports(settings->rdma_ports, &out->rdma_first_port, &out->rdma_last_port);
}

// ---- devices ----

static const struct box_device *measured_device(const struct box *box, uint32_t ordinal)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if (box->devices[i].ordinal == ordinal && box->devices[i].measured)
            return &box->devices[i];
    return NULL;
}

// The first worker of a device measures the memory of a context while the device is otherwise idle.
// Other workers get that figure.
static void fill_context_cost(const struct box *box, struct control_setup *out)
{
    const struct box_device *measured = measured_device(box, out->device);

    out->measures_context = !measured;
    out->context_cost = measured ? measured->info.context_cost : 0;
}

// The driver numbers only devices that the process can reach, so the message has their UUIDs.
static void fill_gpus(const struct box *box, device_set sees, struct control_setup *out)
{
    for (uint32_t i = 0; sees && i < box->device_count; i++) {
        const struct box_device *device = &box->devices[i];
        struct control_visible_gpu *gpu = &out->gpus[out->gpus_count];
        if (!(sees >> device->ordinal & 1))
            continue;
        gpu->ordinal = device->ordinal;
        memcpy(gpu->uuid, device->info.uuid, sizeof(gpu->uuid));
        out->gpus_count++;
    }
}

// Returns the instance among these devices, or NULL if they are GPUs.
static const struct box_device *instance_in(const struct box *box, device_set sees)
{
    for (uint32_t i = 0; i < box->device_count; i++)
        if ((sees >> box->devices[i].ordinal & 1) && box->devices[i].instance)
            return &box->devices[i];
    return NULL;
}

void worker_setup_fill(const struct box *box, const struct worker_part *part,
                       struct control_setup *out)
{
    *out = (struct control_setup){
        .list = CONTROL_DIGEST,
        .device = part->ordinal,
        .user = part->user,
        .refusals = 1,
        .worker = box->settings.worker,
    };
    out->peer_gpus = box->settings.peer_gpus;
    instances_visible(box->instances, instance_in(box, part->sees), out->visible,
                      sizeof(out->visible));
    out->compute = part->limits.compute;
    out->memory_limit = part->limits.memory;
    snprintf(out->mps_pipe, sizeof(out->mps_pipe), "%s", part->mps_pipe);
    // The memory of a software GPU is memory of its worker.
    if (box->choice.software)
        out->worker.worker_memory = 0;
    snprintf(out->client_socket, sizeof(out->client_socket), "%s", part->client_socket);
    fill_context_cost(box, out);
    fill_transports(box, out);
    fill_gpus(box, part->sees, out);
    out->nodes_count = (uint32_t)confinement_nodes(box, part->sees, out->nodes);
}
