// SPDX-License-Identifier: BSD-3-Clause
#include "broker/api/box_reports.h"

#include <stdlib.h>
#include <string.h>

#include "broker/api/busy_time.h"
#include "broker/api/session_query.h"
#include "broker/leases/adoption.h"
#include "broker/leases/away.h"
#include "broker/leases/boxes.h"
#include "broker/leases/catch_up.h"
#include "broker/leases/drain.h"
#include "broker/leases/history.h"
#include "broker/leases/moving.h"
#include "broker/pool/pool_figures.h"
#include "common/base/clock.h"
#include "common/base/spread.h"

enum { CLOCK_SKEW_MAX = 86400 };

// A caller with a box's key is that box, from anywhere; the administrator on this host may stand in
// for it.
static bool speaks_for(struct api_call *call)
{
    const struct identity *who = &call->who;

    if (who->box ? !strcmp(who->box_name, call->arguments[0]) : who->admin && who->local)
        return true;
    api_refuse(call, OUTCOME_FORBIDDEN, "%s may not speak for box %s", call->who.name,
               call->arguments[0]);
    return false;
}

// Until when the oldest ticket was valid that the box may still accept by its own clock.
static int64_t oldest_ticket(const struct api_call *call)
{
    json_int_t skew = json_integer_value(json_object_get(call->body, "clock_skew"));

    return clock_wall_seconds() - 2 * (skew > 0 && skew < CLOCK_SKEW_MAX ? skew : CLOCK_SKEW_MAX);
}

static void answer_registration(struct api_call *call, const struct pool_box *box)
{
    struct broker *broker = call->server->broker;
    json_t *revoked = store_revocations(broker->store, box->name, oldest_ticket(call),
                                        broker->epoch,
                                        clock_wall_seconds() - broker->limits.max_ticket_seconds);
    json_t *answer = json_pack("{s:I, s:I, s:o}", "heartbeat",
                               (json_int_t)(call->server->settings->heartbeat / 1000), "epoch",
                               (json_int_t)broker->epoch, "revoked", revoked);

    history_put_leases(broker, box, answer);
    history_put_point(broker, answer);
    api_answer(call, 200, answer);
}

void box_reports_register(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    const char *why = NULL;
    enum outcome error;

    if (!speaks_for(call))
        return;
    error = broker_register(broker, call->arguments[0], call->body, call->actor, &why);
    if (why)
        api_refuse(call, error, "%s", why);
    else if (error)
        api_fail(call, error);
    else
        answer_registration(call, pool_find_box(broker->pool, call->arguments[0]));
}

static json_t *running_leases(const json_t *sessions)
{
    json_t *seen = json_object(), *list = json_array(), *session;
    const char *lease;
    size_t i;

    json_array_foreach(sessions, i, session) {
        lease = json_string_value(json_object_get(session, "lease"));
        if (!lease || json_object_get(seen, lease))
            continue;
        json_object_set_new(seen, lease, json_true());
        json_array_append_new(list, json_string(lease));
    }
    json_decref(seen);
    return list;
}

// The report counts when it arrives. VERDICTS stays NULL for a box of an earlier release.
static enum outcome take_report(struct api_call *call, struct pool_box *box, const json_t *running,
                                json_t **restored, json_t **verdicts)
{
    struct server *server = call->server;
    json_t *sessions = json_object_get(call->body, "sessions");
    const char *instance = json_string_value(json_object_get(call->body, "instance"));
    struct box_http *state = box_http(&server->box_states, box->name);
    enum outcome error = history_check_sessions(server->broker, box, sessions, call->actor);

    session_query_reported(server, state);
    if (!error)
        error = broker_hear(server->broker, box, instance ? instance : "", running,
                            json_object_get(call->body, "ended"),
                            !json_is_false(json_object_get(call->body, "accepting")), call->actor);
    if (!error)
        state->busy_kept =
            busy_time_take(server->broker, box, json_object_get(call->body, "gpu_time"));
    if (!error)
        error = broker_note_failed(server->broker, box, json_object_get(call->body, "failed"),
                                   call->actor);
    if (!error && catch_up_is_due(server->broker, box))
        error = catch_up_hear(server->broker, box, call->body, running, call->actor);
    if (!error)
        error = broker_hear_suspensions(server->broker, box,
                                        json_object_get(call->body, "suspensions"), call->actor);
    if (!error)
        error = broker_hear_moves(server->broker, box, json_object_get(call->body, "moves"),
                                  call->actor);
    if (!error)
        error = broker_drain_faulty(server->broker, box, json_object_get(call->body, "faults"),
                                    call->actor);
    if (!error) {
        pool_figures_bound(sessions);
        pool_figures_take(box, json_object_get(call->body, "figures"));
    }
    if (!error)
        json_object_set(server->sessions, box->name, sessions ? sessions : json_array());
    if (!error)
        error = history_reconcile(server->broker, box, json_object_get(call->body, "refused"),
                                  call->actor, restored);
    if (!error && json_object_get(call->body, "reclaim"))
        error = adoption_hear(server->broker, box, call->body, running, call->actor, verdicts);
    if (!error)
        catch_up_end(server->broker, box, *verdicts);
    return error;
}

// Returns a heartbeat, or up to a quarter less, so that boxes that reported at one moment spread
// out. After a restart of the broker all boxes report at once, and thousands of reports in a row
// would delay every other request. So after its first report a box sends the next one at a random
// moment of a heartbeat.
static double report_pause(const struct server *server, bool first)
{
    return (double)spread_pause(server->settings->heartbeat, first ? 100 : 25) * 1e-6;
}

static json_t *drained_gpus(const struct pool_box *box)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < box->gpu_count; i++)
        if (box->gpus[i]->drained)
            json_array_append_new(list, json_string(box->gpus[i]->uuid));
    return list;
}

// Lists that depend on the report; the answer takes them over.
struct orders_of_report {
    json_t *revoke, *restored, *verdicts, *ask;
};

static void forget_orders(struct orders_of_report *orders)
{
    json_decref(orders->revoke);
    json_decref(orders->restored);
    json_decref(orders->verdicts);
    json_decref(orders->ask);
}

static bool has_orders(const struct orders_of_report *orders)
{
    return json_array_size(orders->revoke) || json_array_size(orders->restored) ||
           json_object_size(orders->verdicts) || json_array_size(orders->ask);
}

// Takes over the lists of ORDERS.
static json_t *describe_orders(struct server *server, struct pool_box *box,
                               const struct box_http *state, struct orders_of_report *orders)
{
    static const char *const states[] = {"suspended", "idle", "moves"};
    json_t *answer =
        json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:b, s:o, s:o, s:o}", "revoke", orders->revoke,
                  "restored", orders->restored ? orders->restored : json_array(), "reclaimed",
                  orders->verdicts ? orders->verdicts : json_object(), "reclaim", orders->ask,
                  "drained", box->drained, "gpus_drained", drained_gpus(box), "gpu_time_kept",
                  state->busy_kept, "suspended", broker_suspensions(server->broker, box, false),
                  "idle", broker_suspensions(server->broker, box, true), "moves",
                  broker_moves(server->broker, box));
    if (catch_up_is_due(server->broker, box))
        for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
            json_object_del(answer, states[i]);
    history_put_point(server->broker, answer);
    return answer;
}

// The answer waits for a command or for the next heartbeat.
void box_reports_sync(struct api_call *call)
{
    struct server *server = call->server;
    struct pool_box *box;
    struct orders_of_report orders = {0};
    json_t *running;
    enum outcome error = OUTCOME_DONE;
    struct box_http *state;
    bool first;

    box = speaks_for(call) ? api_named_box(call) : NULL;
    if (!box)
        return;
    first = !box->reported_here;
    state = box_http(&server->box_states, box->name);
    // The broker keeps one waiting report of a box, regardless of the number of the box's
    // connections.
    if (!call->waits && state->call)
        api_fail(state->call, OUTCOME_OVERTAKEN);
    running = running_leases(json_object_get(call->body, "sessions"));
    if (!call->waits)
        error = take_report(call, box, running, &orders.restored, &orders.verdicts);
    else if (!broker_knows_box(server->broker, box))
        error = OUTCOME_UNREGISTERED;
    else
        box->heard = clock_boot_seconds();
    if (error == OUTCOME_UNREGISTERED)
        api_refuse(call, OUTCOME_UNREGISTERED, "box %s must register first", box->name);
    else if (error)
        api_fail(call, error);
    if (error) {
        json_decref(running);
        forget_orders(&orders);
        return;
    }
    if (call->waits && json_object_get(call->body, "reclaim"))
        orders.verdicts = json_object();
    orders.ask = json_array();
    orders.revoke = broker_revocations(server->broker, box, running, orders.verdicts, orders.ask);
    json_decref(running);
    if (!has_orders(&orders) && !api_expired(call) && state->query >= state->wanted &&
        state->suspensions == box->suspensions) {
        forget_orders(&orders);
        api_wait(call, report_pause(server, first), NULL);
        return;
    }
    state->reported = state->wanted;
    state->suspensions = box->suspensions;
    api_answer(call, 200, describe_orders(server, box, state, &orders));
}
