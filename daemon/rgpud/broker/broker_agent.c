// SPDX-License-Identifier: BSD-3-Clause
// One request at a time is pending. The broker answers it when it has orders, or when the next
// report is due:
//
//     PUT  /v1/boxes/NAME         describes box and GPUs; the answer has leases to refuse
//     POST /v1/boxes/NAME/sync    reports sessions and completed ends; the answer has leases to end
#include "daemon/rgpud/broker/broker_agent.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/base/spread.h"
#include "common/security/ticket.h"
#include "daemon/rgpud/broker/broker_connection.h"
#include "daemon/rgpud/broker/broker_orders.h"
#include "daemon/rgpud/broker/broker_report.h"
#include "daemon/rgpud/broker/served_leases.h"
#include "daemon/rgpud/gpus/gpu_time.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/sharing/moves.h"
#include "daemon/rgpud/suspension/suspension_orders.h"

enum {
    RETRY_MIN_MS = 200,
    RETRY_MAX_MS = 5000,
    RETRY_WAITING_MS = 1000,
    HEARTBEAT_MS = 5000, // until the broker sets another one
    ENDING_MS = 500,     // time that a report waits for sessions that are ending
};

enum agent_state {
    AGENT_OFFLINE, // waits to try again, or for the devices to become known
    AGENT_REGISTERING,
    AGENT_REGISTERED, // between two reports
    AGENT_REPORTING,
};

static const char *const state_names[] = {
    [AGENT_OFFLINE] = "offline",
    [AGENT_REGISTERING] = "registering",
    [AGENT_REGISTERED] = "registered",
    [AGENT_REPORTING] = "reporting",
};

struct broker_agent {
    struct box *box;
    enum agent_state state;
    struct broker_connection *connection;
    struct event *timer;
    unsigned retry_ms;
    bool was_online;
    char why[400];      // reason of the last failure; "" if registered
    double heard;       // time of the last proven answer, or 0
    bool doubted;       // a warning about an unproven answer has been logged
    char instance[33];  // identifies this run of the daemon
    unsigned described; // version of the box's description that the broker has
    unsigned suspended; // suspension changes that the broker knows
    unsigned faults;    // faults of GPUs that the broker knows
    struct broker_orders orders;
};

static void broker_agent_move(struct broker_agent *agent, enum agent_state state)
{
    if (agent->state != state)
        log_debug("broker agent state=%s was=%s", state_names[state], state_names[agent->state]);
    agent->state = state;
}

static void broker_agent_arm(struct broker_agent *agent, unsigned milliseconds)
{
    struct timeval delay = {.tv_sec = milliseconds / 1000,
                            .tv_usec = (suseconds_t)(milliseconds % 1000) * 1000};

    event_add(agent->timer, &delay);
}

static void go_offline(struct broker_agent *agent, const char *why)
{
    snprintf(agent->why, sizeof(agent->why), "%s", why);
    if (agent->was_online || agent->retry_ms == RETRY_MIN_MS)
        log_warn("the broker is away broker=%s reason=\"%s\"; sessions go on",
                 broker_connection_peer(agent->connection), why);
    if (agent->was_online)
        box_changed(agent->box); // clients may wait for a verdict of the broker
    agent->was_online = false;
    broker_connection_turn(agent->connection);
    broker_agent_move(agent, AGENT_OFFLINE);
    // All boxes lose their broker at the same moment. A random part of the pause spreads their
    // return.
    broker_agent_arm(agent, (unsigned)spread_pause(agent->retry_ms, 50));
    agent->retry_ms = agent->retry_ms * 2 < RETRY_MAX_MS ? agent->retry_ms * 2 : RETRY_MAX_MS;
}

// ---- answers ----

static void refused(struct broker_agent *agent, int status, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));

    if (code && !strcmp(code, "register")) {
        // The broker does not know the box, because it was restarted or has declared the box lost.
        broker_agent_move(agent, AGENT_OFFLINE);
        broker_agent_arm(agent, 0);
        return;
    }
    // Another broker leads, or will soon.
    if (code && !strcmp(code, "waiting") && agent->retry_ms > RETRY_WAITING_MS)
        agent->retry_ms = RETRY_WAITING_MS;
    char why[256];
    snprintf(why, sizeof(why), "status %d: %s", status, message ? message : "no answer");
    go_offline(agent, why);
}

static void registered(struct broker_agent *agent, const json_t *answer)
{
    json_int_t heartbeat = json_integer_value(json_object_get(answer, "heartbeat"));

    broker_connection_expect(agent->connection, heartbeat > 0 && heartbeat < 600000
                                                    ? (unsigned)heartbeat
                                                    : HEARTBEAT_MS);
    agent->retry_ms = RETRY_MIN_MS;
    agent->was_online = true;
    agent->doubted = false;
    agent->why[0] = '\0';
    agent->orders.ending_count = 0;
    if (broker_orders_adopt(&agent->orders, answer)) {
        go_offline(agent, "what it says of its history cannot be");
        return;
    }
    log_info("registered at the broker broker=%s name=%s",
             broker_connection_peer(agent->connection), agent->box->name);
    if (broker_orders_take(&agent->orders, json_object_get(answer, "revoked"), false)) {
        go_offline(agent, "revoked leases cannot be remembered");
        return;
    }
    broker_orders_reclaim_unknown(&agent->orders);
    broker_agent_move(agent, AGENT_REGISTERED);
    broker_agent_arm(agent, 0);
}

static void reported(struct broker_agent *agent, const json_t *answer)
{
    const json_t *orders = json_object_get(answer, "revoke");
    bool repeated = broker_orders_repeat(&agent->orders, orders);
    bool again = broker_orders_take_verdicts(&agent->orders, answer);

    fault_point("agent.answered");
    health_reported(agent->box);
    failed_sessions_reported(&agent->box->failed);
    if (json_is_true(json_object_get(answer, "gpu_time_kept")))
        gpu_time_reported(agent->box);
    agent->orders.ending_count =
        0; // the complete ends have been reported; the broker repeats the others
    agent->retry_ms = RETRY_MIN_MS;
    broker_agent_move(agent, AGENT_REGISTERED);
    if (broker_orders_note(&agent->orders, answer)) {
        go_offline(agent, "what it says of its history cannot be");
        return;
    }
    broker_orders_restore(&agent->orders, json_object_get(answer, "restored"));
    suspension_adopt(agent->box, json_object_get(answer, "suspended"),
                     json_object_get(answer, "idle"));
    moves_adopt(agent->box, json_object_get(answer, "moves"));
    health_adopt(agent->box, json_object_get(answer, "gpus_drained"));
    if (broker_orders_take(&agent->orders, orders, true)) {
        broker_agent_arm(agent, RETRY_MAX_MS);
        return;
    }
    broker_agent_arm(agent,
                     again || repeated || broker_orders_wait(&agent->orders) ? ENDING_MS : 0);
}

// Logs an answer without a proof, and ignores it otherwise. A broker that does not know our key
// cannot prove itself either, so its reason is in the log.
static void answered_by_whom(struct broker_agent *agent, int status, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *code = json_string_value(json_object_get(error, "code"));
    char why[400];

    // A broker refuses requests of the second in which it started, and boxes ask at once.
    if (status == 401 && code && !strcmp(code, "restarted")) {
        go_offline(agent, "it has just started, and takes requests from the next second on");
        return;
    }
    if (status == 401)
        snprintf(why, sizeof(why),
                 "status 401, without proof of being the broker: %.150s; see that "
                 "key_file holds the key of box %.40s",
                 message ? message : "no reason", agent->box->name);
    else
        snprintf(why, sizeof(why), "status %d, without proof of being the broker", status);
    if (!agent->doubted)
        log_warn("who answers at broker=%s is not believed: %s",
                 broker_connection_peer(agent->connection), why);
    agent->doubted = true;
    go_offline(agent, why);
}

static void answered(void *argument, int status, bool proven, const json_t *answer)
{
    struct broker_agent *agent = argument;

    if (status && proven)
        agent->heard = clock_seconds();
    if (!status)
        go_offline(agent, "no connection, or no answer in time");
    else if (!proven)
        answered_by_whom(agent, status, answer);
    else if (status != 200 || !answer)
        refused(agent, status, answer);
    else if (agent->state == AGENT_REGISTERING)
        registered(agent, answer);
    else
        reported(agent, answer);
}

// ---- requests ----

static void broker_agent_register_box(struct broker_agent *agent)
{
    json_t *body = broker_report_box(agent->box, agent->instance);

    broker_orders_put_point(&agent->orders, body);
    broker_agent_move(agent, AGENT_REGISTERING);
    agent->described = agent->box->description;
    if (broker_connection_send(agent->connection, "PUT", "", body))
        go_offline(agent, "the request cannot be made");
    json_decref(body);
}

static void broker_agent_report(struct broker_agent *agent)
{
    struct box *box = agent->box;
    json_t *body = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "instance",
                             agent->instance, "failed", failed_sessions_report(&box->failed),
                             "reclaim", served_report(agent->orders.served), "faults",
                             health_report(box), "sessions", broker_report_sessions(box), "figures",
                             broker_report_figures(box), "gpu_time", gpu_time_report(agent->box),
                             "ended", broker_orders_endings(&agent->orders), "accepting",
                             box->state == BOX_SERVING, "suspensions", suspension_report(box),
                             "moves", moves_report(agent->box));

    if (agent->orders.refused)
        json_object_set(body, "refused", agent->orders.refused);
    agent->suspended = box->suspension_changes;
    agent->faults = box->faults;
    broker_agent_move(agent, AGENT_REPORTING);
    if (broker_connection_send(agent->connection, "POST", "/sync", body))
        go_offline(agent, "the request cannot be made");
    json_decref(body);
}

static void broker_agent_send_next(struct broker_agent *agent)
{
    switch (agent->state) {
    case AGENT_OFFLINE:
        if (agent->box->devices_known)
            broker_agent_register_box(agent);
        return;
    case AGENT_REGISTERED:
        if (agent->described != agent->box->description)
            broker_agent_register_box(agent);
        else
            broker_agent_report(agent);
        return;
    case AGENT_REGISTERING:
    case AGENT_REPORTING: return; // the answer continues
    }
}

static void broker_agent_on_timer(evutil_socket_t fd, short events, void *argument)
{
    broker_agent_send_next(argument);
}

// ---- the box's side ----

void broker_agent_review(struct box *box)
{
    struct broker_agent *agent = box->agent;

    if (!agent)
        return;
    if (agent->state == AGENT_OFFLINE && box->devices_known && !evtimer_pending(agent->timer, NULL))
        broker_agent_arm(agent, 0);
    // The pending report describes the box before the change. It is cancelled and sent again.
    if (agent->state == AGENT_REPORTING &&
        (agent->described != box->description || agent->suspended != box->suspension_changes ||
         agent->faults != box->faults || served_has_reclaims(agent->orders.served))) {
        broker_connection_drop(agent->connection);
        broker_agent_move(agent, AGENT_REGISTERED);
        broker_agent_arm(agent, 0);
    }
    // The broker waits for the report that the last session of a lease has ended and that this is
    // on disk.
    if (agent->state == AGENT_REGISTERED && agent->orders.ending_count > 0 &&
        !broker_orders_wait(&agent->orders))
        broker_agent_arm(agent, 0);
}

void broker_agent_contact(const struct box *box, struct broker_contact *out)
{
    const struct broker_agent *agent = box->agent;

    *out = (struct broker_contact){.set = agent, .heard = -1, .why = ""};
    if (!agent)
        return;
    out->registered = agent->was_online;
    if (agent->heard > 0)
        out->heard = (int64_t)(clock_seconds() - agent->heard);
    if (!out->registered)
        out->why = *agent->why ? agent->why : "not registered yet";
}

void broker_agent_note(const struct box *box, const struct ticket *ticket, const char *text)
{
    if (box->agent)
        served_note(box->agent->orders.served, ticket, text);
}

bool broker_agent_delays(const struct box *box, const struct session_grant *grant)
{
    return box->agent && broker_orders_delay(&box->agent->orders, grant);
}

const char *broker_agent_objection(const struct box *box, const struct session_grant *grant)
{
    struct broker_agent *agent = box->agent;
    const char *why = agent ? broker_orders_objection(&agent->orders, grant) : NULL;

    if (why || !agent || agent->was_online || !broker_orders_delay(&agent->orders, grant))
        return why;
    return "the broker's database was restored from an older copy, and the broker, which must say if "
           "it knows the lease, is away: try again when it is back";
}

static int broker_agent_set_up(struct broker_agent *agent)
{
    struct box *box = agent->box;
    uint8_t instance[16];
    int err = broker_connection_open(box, answered, agent, &agent->connection);

    if (err)
        return err;
    broker_connection_expect(agent->connection, HEARTBEAT_MS);
    if (getrandom(instance, sizeof(instance), 0) != sizeof(instance))
        return -EIO;
    hex_encode(instance, sizeof(instance), agent->instance);
    err = broker_orders_open(box, &agent->orders);
    if (err)
        return err;
    agent->retry_ms = RETRY_MIN_MS;
    agent->timer = evtimer_new(box->base, broker_agent_on_timer, agent);
    return agent->timer ? 0 : -ENOMEM;
}

int broker_agent_open(struct box *box)
{
    int err;

    if (!*box->settings.broker)
        return 0;
    box->agent = calloc(1, sizeof(*box->agent));
    if (!box->agent)
        return -ENOMEM;
    box->agent->box = box;
    broker_report_check_addresses(box);
    err = broker_agent_set_up(box->agent);
    if (err)
        broker_agent_close(box);
    return err;
}

void broker_agent_close(struct box *box)
{
    struct broker_agent *agent = box->agent;

    if (!agent)
        return;
    box->agent = NULL;
    if (agent->timer)
        event_free(agent->timer);
    broker_connection_close(&agent->connection);
    broker_orders_close(&agent->orders);
    explicit_bzero(agent, sizeof(*agent));
    free(agent);
}
