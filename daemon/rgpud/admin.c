// SPDX-License-Identifier: BSD-3-Clause
// Each connection carries one command. The answer has JSON lines; the last one is {"status": "ok"}
// or {"error": ...}.
#include "daemon/rgpud/admin.h"

#include <errno.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/endpoint.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/box/askers.h"
#include "daemon/rgpud/broker/broker_agent.h"
#include "daemon/rgpud/gpus/figures.h"
#include "daemon/rgpud/workers/mps_daemon.h"
#include "daemon/rgpud/lifecycle.h"
#include "daemon/rgpud/box/listeners.h"
#include "daemon/rgpud/clients/rendezvous.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/sharing/overcommit_factor.h"
#include "daemon/rgpud/gpus/shares.h"
#include "daemon/rgpud/sharing/moves.h"
#include "daemon/rgpud/sharing/standing.h"
#include "daemon/rgpud/suspension/suspension_orders.h"
#include "daemon/rgpud/vm/vm_windows.h"
#include "daemon/rgpud/clients/waiting_clients.h"
#include "daemon/rgpud/workers/warm_pool.h"
#include "daemon/rgpud/workers/worker_process.h"
#include "version.h"

struct admin {
    struct askers *askers;
    char *path;
};

static void put_line(struct evbuffer *out, json_t *object)
{
    SCOPED_FREE char *text = object ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

    if (text)
        evbuffer_add_printf(out, "%s\n", text);
    json_decref(object);
}

// Peers choose some of these texts. A string that is not UTF-8 has no JSON form and would make its
// whole line disappear.
static json_t *text_value(const char *text)
{
    json_t *value = json_string(text);

    return value ? value : json_string("(not UTF-8)");
}

static json_t *session_devices(const struct session_record *session)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < session->grant.device_count; i++)
        json_array_append_new(list, json_string(session->grant.devices[i]->uuid));
    return list;
}

static void admin_put_sessions(struct box *box, struct evbuffer *out)
{
    const struct worker_process *worker;

    TAILQ_FOREACH(worker, &box->workers, link) {
        const struct session_record *s = &worker->session;
        if (!s->id)
            continue;
        json_t *line = json_pack(
            "{s:I, s:i, s:s, s:o, s:s, s:s, s:o, s:s, s:s, s:o, s:f, s:I, s:I, s:I, s:I, s:o, s:i}",
            "session", (json_int_t)s->id, "pid", (int)worker->pid, "state",
            worker_state_name(worker->state), "client", text_value(s->client), "peer", s->peer,
            "lease", s->grant.lease, "devices", session_devices(s), "protection",
            control_protection_name(s->protection), "transport", s->stats.transport, "reason",
            text_value(s->stats.reason), "age_seconds", (double)(clock_ms() - s->since_ms) / 1000,
            "memory", (json_int_t)s->stats.memory, "bytes_in", (json_int_t)s->stats.bytes_in,
            "bytes_out", (json_int_t)s->stats.bytes_out, "calls", (json_int_t)s->stats.calls,
            "links", text_value(s->stats.links), "compute",
            s->grant.part.compute ? (int)s->grant.part.compute
            : s->grant.time_share ? (int)s->grant.time_share
                                  : 100);
        standing_show(worker, line);
        figures_show_session(worker, line);
        put_line(out, line);
    }
}

static void admin_put_devices(struct box *box, struct evbuffer *out)
{
    for (uint32_t i = 0; i < box->device_count; i++) {
        const struct box_device *d = &box->devices[i];
        json_t *line = json_pack(
            "{s:i, s:s, s:o, s:s, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:f, s:i, s:I}",
            "ordinal", (int)d->ordinal, "uuid", d->uuid, "name", text_value(d->info.name), "pci",
            d->info.pci, "memory", (json_int_t)d->info.memory, "context_cost",
            (json_int_t)d->info.context_cost, "account_bytes",
            (json_int_t)accounts_sum(box, d->ordinal), "capability", (int)d->info.capability,
            "sessions", (int)d->sessions, "suspended", (int)suspension_sessions(box, d),
            "held_back", (int)shares_held(box, d), "warm", (int)d->pool.warm, "starting",
            (int)d->pool.starting, "last_error",
            d->pool.failures || mps_is_broken(d, UINT64_C(1) << d->ordinal) ? d->pool.last_error
                                                                            : "",
            "held", d->pool.held ? d->pool.held : "", "sharing", mps_state_word(d), "overcommit",
            overcommit_percent(&box->settings, d->ordinal) / 100.0, "waiting",
            (int)overcommit_waiting(box, d), "room", (json_int_t)overcommit_quota(box, d));
        json_object_set_new(line, "place", text_value(d->place));
        figures_show_device(d, line);
        put_line(out, line);
    }
}

// TEXT is the reason; it is empty if ERR is all that is known.
static void put_error(struct evbuffer *out, int err, const char *text)
{
    put_line(out, json_pack("{s:s}", "error", *text ? text : strerror(-err)));
}

// Answers "suspend NAME" and similar commands. NAME is a lease, or the number of a session without
// one.
static void put_suspension(struct box *box, const char *name, struct evbuffer *out)
{
    json_t *row = suspension_show(box, name);

    put_line(out, row ? row : json_pack("{s:s, s:s}", "lease", name, "state", "running"));
}

static void admin_suspend(struct box *box, const char *name, struct evbuffer *out)
{
    char text[320] = "";
    int err = suspension_begin(box, name, SUSPENSION_ORDERED, text, sizeof(text));

    if (err)
        put_error(out, err, text);
    else
        put_suspension(box, name, out);
}

static void admin_resume(struct box *box, const char *name, struct evbuffer *out)
{
    if (suspension_end(box, name))
        put_line(out, json_pack("{s:o}", "error",
                                json_sprintf("nothing of the name %s is suspended", name)));
    else
        put_suspension(box, name, out);
}

// Prints all windows, or only the one with NAME. The functions below answer "vm-list", "vm-show
// NAME", "vm-attach NAME SIZE [USER]" and "vm-detach NAME".
static void put_windows(struct box *box, const char *name, struct evbuffer *out)
{
    json_t *row;

    for (unsigned i = 0; (row = vm_windows_row(box, i, name)); i++)
        put_line(out, row);
}

static void list_windows(struct box *box, struct evbuffer *out)
{
    put_windows(box, NULL, out);
}

static void attach_window(struct box *box, const char *order, struct evbuffer *out)
{
    char text[320] = "";
    int err = vm_windows_attach(box, order, text, sizeof(text));

    if (err)
        put_error(out, err, text);
}

static void detach_window(struct box *box, const char *name, struct evbuffer *out)
{
    if (vm_windows_detach(box, name))
        put_line(out, json_pack("{s:o}", "error",
                                json_sprintf("no virtual machine %s is attached", name)));
}

static void put_move(struct box *box, const char *name, struct evbuffer *out)
{
    put_line(out, moves_show(box, name));
}

// Answers "NAME TO FROM". FROM may be missing.
static void admin_move(struct box *box, const char *words, struct evbuffer *out)
{
    char name[128] = "", to[128] = "", from[128] = "", text[320] = "";

    sscanf(words, "%127s %127s %127s", name, to, from);
    int err = moves_order(box, name, to, from, text, sizeof(text));
    if (err)
        put_error(out, err, text);
    else
        put_move(box, name, out);
}

static bool is_healthy(const struct box *box, const struct broker_contact *broker)
{
    if (!box->devices_known || warm_pool_is_broken(&box->probe))
        return false;
    if (broker->set && !broker->registered)
        return false;
    for (uint32_t i = 0; i < box->device_count; i++)
        if (warm_pool_is_broken(&box->devices[i].pool) ||
            mps_is_broken(&box->devices[i], UINT64_C(1) << box->devices[i].ordinal))
            return false;
    return true;
}

static void put_health(struct box *box, struct evbuffer *out)
{
    struct broker_contact broker;
    char listen[1024];

    broker_agent_contact(box, &broker);
    listeners_text(box, listen, sizeof(listen));
    put_line(out,
             json_pack("{s:s, s:s, s:s, s:b, s:s, s:I, s:s, s:i, s:i, s:I, s:i, s:i, s:i, s:s}",
                       "box", box->name, "version", RGPU_VERSION, "state",
                       box_state_name(box->state), "healthy", is_healthy(box, &broker), "broker",
                       !broker.set         ? "none"
                       : broker.registered ? "registered"
                                           : "away",
                       "broker_heard", (json_int_t)broker.heard, "listen", listen, "devices",
                       (int)box->device_count, "sessions", (int)box->session_count,
                       "sessions_total", (json_int_t)box->sessions_total, "handshakes",
                       (int)box->handshakes, "rendezvous", (int)rendezvous_count(box), "queued",
                       (int)waiting_count(box), "last_error",
                       box->probe.failures ? box->probe.last_error : broker.why));
}

static void admin_drain(struct box *box, struct evbuffer *out)
{
    if (box->state == BOX_SERVING || box->state == BOX_STARTING)
        lifecycle_move(box, BOX_DRAINING);
    put_health(box, out);
}

static void undrain(struct box *box, struct evbuffer *out)
{
    if (box->state == BOX_DRAINING)
        lifecycle_move(box, box->devices_known ? BOX_SERVING : BOX_STARTING);
    lifecycle_review(box);
    put_health(box, out);
}

static const struct admin_command {
    const char *name;
    void (*answer)(struct box *box, struct evbuffer *out);
} commands[] = {
    {"sessions", admin_put_sessions}, {"devices", admin_put_devices}, {"health", put_health},
    {"drain", admin_drain},           {"undrain", undrain},           {"vm-list", list_windows},
};

static const struct named_command {
    const char *name;
    void (*answer)(struct box *box, const char *name, struct evbuffer *out);
} named_commands[] = {{"suspend ", admin_suspend},     {"resume ", admin_resume},
                      {"suspension ", put_suspension}, {"move ", admin_move},
                      {"moving ", put_move},           {"vm-attach ", attach_window},
                      {"vm-detach ", detach_window},   {"vm-show ", put_windows}};

static bool answer_named(struct box *box, const char *line, struct evbuffer *out)
{
    for (size_t i = 0; i < sizeof(named_commands) / sizeof(named_commands[0]); i++) {
        size_t length = strlen(named_commands[i].name);
        if (strncmp(line, named_commands[i].name, length) != 0 || !line[length])
            continue;
        named_commands[i].answer(box, line + length, out);
        put_line(out, json_pack("{s:s}", "status", "ok"));
        return true;
    }
    return false;
}

static void admin_answer(void *box, const char *line, struct evbuffer *out)
{
    if (answer_named(box, line, out))
        return;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!strcmp(line, commands[i].name)) {
            commands[i].answer(box, out);
            put_line(out, json_pack("{s:s}", "status", "ok"));
            return;
        }
    }
    put_line(
        out,
        json_pack("{s:s}", "error",
                  "unknown command; known: sessions, devices, health, drain, undrain, "
                  "suspend NAME, resume NAME, suspension NAME, move NAME TO [FROM], moving NAME, "
                  "vm-attach NAME SIZE [USER], "
                  "vm-detach NAME, vm-list, vm-show NAME"));
}

static const struct asker_rules rules = {
    .end = "\n", .size_max = 512, .seconds = 5, .count_max = 32, .answer = admin_answer};

static int admin_parse(const char *path, struct endpoint *endpoint)
{
    char text[ENDPOINT_TEXT_MAX];

    if (!path || ((size_t)snprintf(text, sizeof(text), "unix:%s", path) < sizeof(text) &&
                  !endpoint_parse(text, 0, endpoint)))
        return 0;
    config_complain(settings_table, "box", "admin_socket",
                    "admin_socket=%s is not a usable absolute path", path);
    return -EINVAL;
}

int admin_check(const struct box_settings *settings)
{
    struct endpoint endpoint;

    return admin_parse(settings->admin_socket, &endpoint);
}

int admin_open(struct box *box)
{
    struct endpoint endpoint;
    uint16_t port;

    if (!box->settings.admin_socket)
        return 0;
    if (admin_parse(box->settings.admin_socket, &endpoint))
        return -EINVAL;
    // Only the owner and the group may connect, since a peer of this socket can drain the box.
    mode_t mask = umask(0117);
    SCOPED_FD int fd = endpoint_listen(&endpoint, 16, &port);
    umask(mask);
    if (fd < 0) {
        log_error("cannot open admin_socket=%s error=\"%s\"", box->settings.admin_socket,
                  strerror(-fd));
        return fd;
    }
    struct admin *admin = calloc(1, sizeof(*admin));
    char *path = strdup(box->settings.admin_socket);
    if (!admin || !path ||
        askers_open(box->base, scoped_take_fd(&fd), &rules, box, &admin->askers)) {
        free(path);
        free(admin);
        return -ENOMEM;
    }
    admin->path = path;
    box->admin = admin;
    return 0;
}

void admin_close(struct box *box)
{
    if (!box->admin)
        return;
    askers_close(&box->admin->askers);
    unlink(box->admin->path);
    free(box->admin->path);
    free(box->admin);
    box->admin = NULL;
}
