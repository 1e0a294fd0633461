// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/broker/broker_report.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/control.h"
#include "common/net/endpoint.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/box/listeners.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/box/offered_transports.h"
#include "daemon/rgpud/sharing/overcommit_factor.h"
#include "daemon/rgpud/sharing/standing.h"
#include "daemon/rgpud/workers/worker_process.h"
#include "version.h"

enum { ANNOUNCED_MAX = 16 };

static const char *sharing_of(const struct box_device *device)
{
    static const char *const words[] = {[MPS_SHARE_LEASE] = "mps-lease",
                                        [MPS_SHARE_USER] = "mps-user",
                                        [MPS_SHARE_ALL] = "mps-all"};

    return mps_is_wanted(device) ? words[device->box->settings.mps_share] : "time";
}

static json_t *describe_gpu(const struct box *box, const struct box_device *device)
{
    uint64_t context = device->info.context_cost;
    json_t *name = json_string(device->info.name);

    return json_pack("{s:s, s:i, s:o, s:i, s:I, s:b, s:I, s:I, s:s, s:s, s:b, s:i}", "uuid",
                     device->uuid, "index", (int)device->ordinal, "model",
                     name ? name : json_string("unknown"), "capability",
                     (int)device->info.capability, "memory", (json_int_t)device->info.memory,
                     "ready", device->measured, "reserved",
                     (json_int_t)(context * (uint64_t)box->settings.warm_workers +
                                  overcommit_reserve(box, device)),
                     "context", (json_int_t)context, "mode",
                     device->instance ? "exclusive" : gpu_mode_words[box->settings.gpu_mode],
                     "sharing", sharing_of(device), "parts", mps_is_wanted(device) || box->monitor,
                     "overcommit", (int)overcommit_percent(&box->settings, device->ordinal));
}

// Lists the addresses for clients: those of the setting `announce`, otherwise those of `listen`.
static void announced_addresses(const struct box *box, char *text, size_t size)
{
    size_t used = 0;

    if (!box->settings.announce[0]) {
        listeners_text(box, text, size);
        return;
    }
    text[0] = '\0';
    for (char **name = box->settings.announce; *name && used < size; name++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", *name);
}

// Returns true if HOST means the local host wherever it is used.
static bool means_here(const char *host)
{
    return !*host || !strcmp(host, "0.0.0.0") || !strcmp(host, "::") || !strcmp(host, "::1") ||
           !strcmp(host, "localhost") || !strncmp(host, "127.", 4);
}

void broker_report_check_addresses(const struct box *box)
{
    struct endpoint broker, list[ANNOUNCED_MAX];
    char addresses[512];

    announced_addresses(box, addresses, sizeof(addresses));
    int count = endpoint_parse_list(addresses, ENDPOINT_DEFAULT_PORT, list, ANNOUNCED_MAX);
    if (endpoint_parse(box->settings.broker[0], ENDPOINT_DEFAULT_PORT, &broker) ||
        means_here(broker.host))
        return;
    for (int i = 0; i < count; i++)
        if (!list[i].is_unix && means_here(list[i].host)) {
            log_warn("the box announces addresses=%s, which no other host can use: set announce = "
                     "HOST:PORT",
                     addresses);
            return;
        }
}

// Returns true if the kernel has an RDMA device. Workers find out its capabilities.
static bool has_rdma_device(void)
{
    DIR *devices = opendir("/sys/class/infiniband");
    struct dirent *entry = NULL;

    while (devices && (entry = readdir(devices)) && entry->d_name[0] == '.')
        ;
    if (devices)
        closedir(devices);
    return entry;
}

json_t *broker_report_box(const struct box *box, const char *instance)
{
    json_t *gpus = json_array();
    struct control_transport_name allowed[TRANSPORTS_MAX];
    char addresses[512], transports[1024] = "";

    announced_addresses(box, addresses, sizeof(addresses));
    uint32_t count = transports_allowed(&box->settings, allowed);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(allowed[i].name, "rdma") || has_rdma_device())
            snprintf(transports + strlen(transports), sizeof(transports) - strlen(transports),
                     "%s%s", *transports ? "," : "", allowed[i].name);
    for (uint32_t i = 0; i < box->device_count; i++)
        json_array_append_new(gpus, describe_gpu(box, &box->devices[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o}", "instance", instance, "addresses",
                     addresses, "locality", box->settings.locality ? box->settings.locality : "",
                     "transports", transports, "version", RGPU_VERSION, "clock_skew",
                     (json_int_t)(box->settings.clock_skew / 1000000), "gpus", gpus);
}

json_t *broker_report_sessions(const struct box *box)
{
    json_t *list = json_array();
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session_record *session = &worker->session;
        json_t *client, *entry;
        if (!session->id)
            continue;
        client = json_string(session->client);
        entry = json_pack("{s:I, s:s, s:I, s:o, s:s, s:s, s:s, s:s, s:f, s:I, s:I, s:I, s:I}",
                          "session", (json_int_t)session->id, "lease", session->grant.lease,
                          "epoch", (json_int_t)session->grant.epoch, "client",
                          client ? client : json_string("?"), "peer", session->peer, "gpu",
                          session->grant.device_count ? session->grant.devices[0]->uuid : "",
                          "protection", control_protection_name(session->protection), "transport",
                          session->stats.transport, "age_seconds",
                          (double)(clock_ms() - session->since_ms) / 1000, "memory",
                          (json_int_t)session->stats.memory, "bytes_in",
                          (json_int_t)session->stats.bytes_in, "bytes_out",
                          (json_int_t)session->stats.bytes_out, "calls",
                          (json_int_t)session->stats.calls);
        figures_show_session(worker, entry);
        standing_show(worker, entry);
        json_array_append_new(list, entry);
    }
    return list;
}

json_t *broker_report_figures(const struct box *box)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < box->device_count; i++) {
        json_t *entry = json_pack("{s:s}", "uuid", box->devices[i].uuid);
        figures_show_device(&box->devices[i], entry);
        json_array_append_new(list, entry);
    }
    return list;
}
