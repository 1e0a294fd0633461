// SPDX-License-Identifier: BSD-3-Clause
// Each connection carries one request; only GET /metrics is allowed.
#include "daemon/rgpud/exporter.h"

#include <errno.h>
#include <event2/buffer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/endpoint.h"
#include "common/net/own_names.h"
#include "common/base/log.h"
#include "common/service/loop_stall.h"
#include "common/service/metrics.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/box/askers.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/box/limits.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/sharing/overcommit_factor.h"
#include "daemon/rgpud/gpus/shares.h"
#include "daemon/rgpud/suspension/suspension.h"
#include "daemon/rgpud/clients/waiting_clients.h"
#include "daemon/rgpud/workers/box_calls.h"

enum {
    DEFAULT_PORT = 7301,
    BACKLOG = 1024, // large enough for a crowd of strangers
};

// ---- metrics ----

static void put_box(FILE *out, struct box *box)
{
    struct broker_contact broker;

    metrics_put(out, "box_serving", "gauge", "1 where new sessions are taken.",
                box->state == BOX_SERVING);
    broker_agent_contact(box, &broker);
    if (broker.set)
        metrics_put(out, "box_registered", "gauge", "1 where the broker knows the box.",
                    broker.registered);
    metrics_put(out, "box_sessions", "gauge", "Sessions now.", (double)box->session_count);
    metrics_put(out, "box_sessions_total", "counter", "Sessions so far.",
                (double)box->sessions_total);
    metrics_put(out, "box_handshakes", "gauge", "Clients that are not yet authenticated.",
                (double)box->handshakes);
    metrics_put(out, "box_queued", "gauge", "Clients that wait for a worker.",
                (double)waiting_count(box));
    metrics_put(out, "box_suspended_sessions", "gauge", "Sessions whose memory is off the GPUs.",
                suspension_sessions(box, NULL));
    metrics_put(out, "box_suspended_bytes", "gauge",
                "Memory of this machine that suspended sessions have for it.",
                (double)suspension_bytes(box));
    loop_stall_put(out, "box_");
    box_calls_settle(box);
    limits_put(out, box->limits);
    metrics_put_histogram(out, "box_session_start_seconds",
                          "From the end of the handshake to a worker.", &box->session_starts);
}

struct device_figure {
    const char *name, *help;
    double (*value)(struct box *box, const struct box_device *device);
};

static double sessions_of(struct box *box, const struct box_device *device)
{
    return device->sessions;
}

static double warm_of(struct box *box, const struct box_device *device)
{
    return device->pool.warm;
}

static double held_of(struct box *box, const struct box_device *device)
{
    return shares_held(box, device);
}

static double waiting_of(struct box *box, const struct box_device *device)
{
    return overcommit_waiting(box, device);
}

static double overcommit_of(struct box *box, const struct box_device *device)
{
    return overcommit_percent(&box->settings, device->ordinal) / 100.0;
}

static double failures_of(struct box *box, const struct box_device *device)
{
    return device->pool.failures;
}

static double exporter_memory_of(struct box *box, const struct box_device *device)
{
    return (double)device->info.memory;
}

static double taken_of(struct box *box, const struct box_device *device)
{
    return (double)device->driver_bytes;
}

static double accounted_of(struct box *box, const struct box_device *device)
{
    return (double)accounts_sum(box, device->ordinal);
}

// Unknown figures have no sample.
static double known(struct figure figure)
{
    return figure.known ? (double)figure.value : NAN;
}

static double utilization_of(struct box *box, const struct box_device *device)
{
    return known(device->utilization);
}

static double processes_of(struct box *box, const struct box_device *device)
{
    return known(device->processes);
}

static double temperature_of(struct box *box, const struct box_device *device)
{
    return known(device->temperature);
}

static double power_of(struct box *box, const struct box_device *device)
{
    return known(device->power) / 1000;
}

static const struct device_figure device_figures[] = {
    {"box_gpu_sessions", "Sessions that use the GPU.", sessions_of},
    {"box_gpu_held_back_sessions", "Those of leases that have had more than their share.", held_of},
    {"box_gpu_overcommit", "How many times its memory shares may be promised.", overcommit_of},
    {"box_gpu_waiting_leases", "Those that wait for their turn to have memory there.", waiting_of},
    {"box_gpu_warm_workers", "Workers that are ready for clients.", warm_of},
    {"box_gpu_failed_starts", "Starts of workers in a row that failed.", failures_of},
    {"box_gpu_memory_bytes", "Memory of the GPU.", exporter_memory_of},
    {"box_gpu_driver_bytes", "Taken by everybody, as the management library says; 0: not known.",
     taken_of},
    {"box_gpu_account_bytes", "Taken by sessions, by their accounts.", accounted_of},
    {"box_gpu_utilization_percent", "Part of the time in which kernels ran.", utilization_of},
    {"box_gpu_processes", "Processes that have memory of the GPU.", processes_of},
    {"box_gpu_temperature_celsius", "Temperature of the GPU.", temperature_of},
    {"box_gpu_power_watts", "Power that the GPU takes.", power_of},
};

static void exporter_put_devices(FILE *out, struct box *box)
{
    for (size_t f = 0; f < sizeof(device_figures) / sizeof(device_figures[0]); f++) {
        metrics_describe(out, device_figures[f].name, "gauge", device_figures[f].help);
        for (uint32_t i = 0; i < box->device_count; i++) {
            const struct box_device *device = &box->devices[i];
            char ordinal[16];
            const char *const labels[][2] = {{"gpu", ordinal},
                                             {"uuid", device->uuid},
                                             {"model", device->info.name}};

            double value = device_figures[f].value(box, device);

            snprintf(ordinal, sizeof(ordinal), "%u", device->ordinal);
            if (!isnan(value))
                metrics_put_sample(out, device_figures[f].name, labels, 3, value);
        }
    }
}

// The number of sessions with a series of their own.
enum { SESSIONS_MAX = 256 };

static double session_utilization(const struct worker_process *worker)
{
    return known(figures_session_utilization(worker));
}

static double session_taken(const struct worker_process *worker)
{
    uint64_t bytes = figures_session_bytes(worker);

    return bytes ? (double)bytes : NAN;
}

static const struct session_figure {
    const char *name, *help;
    double (*value)(const struct worker_process *worker);
} session_figures[] = {
    {"box_session_utilization_percent", "Part of the time in which the session's kernels ran.",
     session_utilization},
    {"box_session_driver_bytes", "GPU memory of the session, as the management library says.",
     session_taken},
};

static void put_session(FILE *out, const struct session_figure *figure,
                        const struct worker_process *worker)
{
    char id[24];
    const char *const labels[][2] = {{"session", id}, {"lease", worker->session.grant.lease}};
    double value = figure->value(worker);

    snprintf(id, sizeof(id), "%llu", (unsigned long long)worker->session.id);
    if (!isnan(value))
        metrics_put_sample(out, figure->name, labels, 2, value);
}

static void exporter_put_sessions(FILE *out, struct box *box)
{
    for (size_t f = 0; f < sizeof(session_figures) / sizeof(session_figures[0]); f++) {
        const struct worker_process *worker;
        unsigned count = 0;

        metrics_describe(out, session_figures[f].name, "gauge", session_figures[f].help);
        TAILQ_FOREACH(worker, &box->workers, link)
            if (worker->session.id && count++ < SESSIONS_MAX)
                put_session(out, &session_figures[f], worker);
    }
}

static char *figures(struct box *box, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        return NULL;
    put_box(out, box);
    exporter_put_devices(out, box);
    health_put(out, box);
    exporter_put_sessions(out, box);
    metrics_put_process(out, "rgpud");
    return fclose(out) == 0 ? text : NULL;
}

// ---- the server ----

static struct own_names *own_names;

// Returns true if the Host of the request is this server, or if there is none: a browser sends one.
static bool is_for_us(const char *head)
{
    const char *line = strcasestr(head, "\nHost:");
    char host[ENDPOINT_HOST_MAX + 8] = "";

    return !line ||
           (sscanf(line + 6, " %262[^\r\n\t ]", host) == 1 && own_names_include(own_names, host));
}

static void exporter_answer(void *box, const char *head, struct evbuffer *out)
{
    bool known = !strncmp(head, "GET /metrics ", 13) || !strncmp(head, "GET /metrics?", 13);
    size_t size = 0;

    if (!is_for_us(head)) {
        static const char why[] = "rgpud does not know itself by the name in Host: ask for its "
                                  "address, or set metrics_listen to that name\n";
        evbuffer_add_printf(out,
                            "HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain\r\n"
                            "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                            strlen(why), why);
        return;
    }
    char *text = known ? figures(box, &size) : NULL;

    evbuffer_add_printf(out,
                        "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                        text    ? "200 OK"
                        : known ? "503 Service Unavailable"
                                : "404 Not Found",
                        size);
    evbuffer_add(out, text, size);
    free(text);
}

static const struct asker_rules rules = {
    .end = "\r\n\r\n", .size_max = 8192, .seconds = 10, .count_max = 64, .answer = exporter_answer};

static int exporter_parse(const char *text, struct endpoint *endpoint)
{
    int err = text ? endpoint_parse(text, DEFAULT_PORT, endpoint) : 0;

    if (err)
        config_complain(settings_table, "box", "metrics_listen",
                        "metrics_listen=%s is not host:port or unix:/path", text);
    return err;
}

int exporter_check(const struct box_settings *settings)
{
    struct endpoint endpoint;

    return exporter_parse(settings->metrics_listen, &endpoint);
}

int exporter_open(struct box *box, struct askers **out)
{
    const char *text = box->settings.metrics_listen;
    struct endpoint endpoint;
    uint16_t port = 0;
    int fd, err;

    if (!text)
        return 0;
    if (exporter_parse(text, &endpoint))
        return -EINVAL;
    char *const names[] = {(char *)text, NULL};
    if (own_names_new(names, &own_names))
        return -ENOMEM;
    fd = endpoint_listen(&endpoint, BACKLOG, &port);
    if (fd < 0) {
        log_error("cannot listen metrics_listen=%s error=\"%s\"", text, strerror(-fd));
        return fd;
    }
    err = askers_open(box->base, fd, &rules, box, out);
    if (!err)
        log_info("figures for Prometheus metrics_listen=%s port=%u", text, port);
    return err;
}
