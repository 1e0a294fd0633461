// SPDX-License-Identifier: BSD-3-Clause
// Routes of the API for boxes and GPUs: reports of boxes, and orders of administrators.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/leases/adoption.h"
#include "broker/leases/away.h"
#include "broker/leases/boxes.h"
#include "broker/api/busy_time.h"
#include "broker/leases/drain.h"
#include "broker/pool/pool_figures.h"
#include "broker/leases/history.h"
#include "broker/leases/moving.h"
#include "common/base/clock.h"
#include "common/base/spread.h"
#include "broker/api/routes.h"
#include "broker/api/session_query.h"
#include "broker/api/view.h"

enum { CLOCK_SKEW_MAX = 86400 };

static struct pool_box *named_box(struct api_call *call)
{
    struct pool_box *box = pool_find_box(call->server->broker->pool, call->arguments[0]);

    if (!box)
        api_refuse(call, OUTCOME_NOT_FOUND, "no box %s", call->arguments[0]);
    return box;
}

static struct pool_gpu *named_gpu(struct api_call *call)
{
    const char *name = call->arguments[0];
    struct pool_gpu *gpu = pool_gpu_named(call->server->broker->pool, name);

    if (!gpu)
        api_refuse(call, OUTCOME_NOT_FOUND, "no GPU %s; name it by UUID or as BOX:INDEX", name);
    return gpu;
}

// ---- looking ----

static void list_boxes(struct api_call *call)
{
    const struct pool *pool = call->server->broker->pool;
    json_t *list = json_array();

    for (size_t i = 0; i < pool->box_count; i++)
        json_array_append_new(list, view_box(pool->boxes[i]));
    api_answer(call, 200, json_pack("{s:o}", "boxes", list));
}

static void add_gpus(json_t *list, const struct pool_box *box)
{
    for (uint32_t i = 0; i < box->gpu_count; i++)
        json_array_append_new(list, view_gpu(box->gpus[i]));
}

static void list_gpus(struct api_call *call)
{
    const struct pool *pool = call->server->broker->pool;
    json_t *list = json_array();

    for (size_t i = 0; i < pool->box_count; i++)
        add_gpus(list, pool->boxes[i]);
    api_answer(call, 200, json_pack("{s:o}", "gpus", list));
}

static void get_box(struct api_call *call)
{
    struct pool_box *box = named_box(call);
    json_t *object, *gpus = json_array();

    if (!box) {
        json_decref(gpus);
        return;
    }
    add_gpus(gpus, box);
    object = json_pack("{s:o, s:o}", "box", view_box(box), "gpus", gpus);
    api_answer(call, 200, object);
}

static void get_gpu(struct api_call *call)
{
    const struct pool_gpu *gpu = named_gpu(call);

    if (gpu)
        api_answer(call, 200, json_pack("{s:o}", "gpu", view_gpu(gpu)));
}

// ---- what boxes say ----

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
    json_t *answer = json_pack("{s:I, s:I, s:o, s:o}", "heartbeat",
                               (json_int_t)(call->server->settings->heartbeat / 1000), "epoch",
                               (json_int_t)broker->epoch, "revoked", revoked, "leases",
                               history_live_leases(broker, box));

    history_put_point(broker, answer);
    api_answer(call, 200, answer);
}

static void routes_boxes_register_box(struct api_call *call)
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
    json_t *reclaims = json_object_get(call->body, "reclaim");
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
    if (!error && reclaims)
        error = adoption_hear(server->broker, box, reclaims, running, call->actor, verdicts);
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

// The answer waits for a command or for the next heartbeat.
static void sync_box(struct api_call *call)
{
    struct server *server = call->server;
    struct pool_box *box;
    struct orders_of_report orders = {0};
    json_t *running, *answer;
    enum outcome error = OUTCOME_DONE;
    struct box_http *state;
    bool first;

    box = speaks_for(call) ? named_box(call) : NULL;
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
    answer = json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:b, s:o, s:o, s:o}", "revoke",
                       orders.revoke, "restored", orders.restored ? orders.restored : json_array(),
                       "reclaimed", orders.verdicts ? orders.verdicts : json_object(), "reclaim",
                       orders.ask, "drained", box->drained, "gpus_drained", drained_gpus(box),
                       "gpu_time_kept", state->busy_kept, "suspended",
                       broker_suspensions(server->broker, box, false), "idle",
                       broker_suspensions(server->broker, box, true), "moves",
                       broker_moves(server->broker, box));
    history_put_point(server->broker, answer);
    api_answer(call, 200, answer);
}

// ---- what administrators steer ----

static void answer_box(struct api_call *call, const struct pool_box *box, enum outcome error)
{
    if (error)
        api_fail(call, error);
    else
        api_answer(call, 200, json_pack("{s:o}", "box", view_box(box)));
}

static void answer_gpu(struct api_call *call, const struct pool_gpu *gpu, enum outcome error)
{
    if (error)
        api_fail(call, error);
    else
        api_answer(call, 200, json_pack("{s:o}", "gpu", view_gpu(gpu)));
}

static bool read_drain(struct api_call *call, bool drained, struct drain_order *order)
{
    const json_t *reason = json_object_get(call->body, "reason");

    *order = (struct drain_order){.drained = drained,
                                  .force = json_is_true(json_object_get(call->body, "force")),
                                  .reason = json_string_value(reason),
                                  .actor = call->actor};
    if (json_is_true(json_object_get(call->body, "move")) && (order->force || !drained)) {
        api_refuse(call, OUTCOME_BAD_REQUEST,
                   "\"move\" is for drains that end no leases, and so not with \"force\"");
        return false;
    }
    if (!reason || (order->reason && drain_reason_is_good(order->reason)))
        return true;
    api_refuse(call, OUTCOME_BAD_REQUEST, "\"reason\" is one line of at most %d bytes",
               DRAIN_REASON_MAX);
    return false;
}

// Shows the drained box or GPU, and with --move the leases that go to other GPUs and those that
// stay.
static void answer_drain(struct api_call *call, struct pool_box *box, struct pool_gpu *gpu,
                         enum outcome error)
{
    bool moves = json_is_true(json_object_get(call->body, "move"));
    json_t *list = NULL;

    if (!error && moves)
        error = broker_move_off(call->server->broker, box, gpu, call->actor, &list);
    if (error) {
        json_decref(list);
        api_fail(call, error);
        return;
    }
    json_t *answer = gpu ? json_pack("{s:o}", "gpu", view_gpu(gpu))
                         : json_pack("{s:o}", "box", view_box(box));
    if (list)
        json_object_set_new(answer, "moves", list);
    api_answer(call, 200, answer);
}

static void steer_box(struct api_call *call, bool drained)
{
    struct pool_box *box = named_box(call);
    struct drain_order order;

    if (box && read_drain(call, drained, &order))
        answer_drain(call, box, NULL, broker_drain_box(call->server->broker, box, &order));
}

static void steer_gpu(struct api_call *call, bool drained)
{
    struct pool_gpu *gpu = named_gpu(call);
    struct drain_order order;

    if (gpu && read_drain(call, drained, &order))
        answer_drain(call, gpu->box, gpu, broker_drain_gpu(call->server->broker, gpu, &order));
}

static void drain_box(struct api_call *call)
{
    steer_box(call, true);
}

static void undrain_box(struct api_call *call)
{
    steer_box(call, false);
}

static void drain_gpu(struct api_call *call)
{
    steer_gpu(call, true);
}

static void undrain_gpu(struct api_call *call)
{
    steer_gpu(call, false);
}

static void routes_boxes_set_mode(struct api_call *call)
{
    struct pool_gpu *gpu = named_gpu(call);
    enum gpu_mode mode;
    bool automatic;

    if (!gpu)
        return;
    if (gpu_parse_mode(json_string_value(json_object_get(call->body, "mode")), &mode, &automatic) <
        0)
        api_refuse(call, OUTCOME_BAD_REQUEST, "\"mode\" is \"exclusive\", \"shared\" or \"auto\"");
    else if (gpu_is_instance(gpu) && (automatic || mode != GPU_EXCLUSIVE))
        api_refuse(call, OUTCOME_BAD_REQUEST,
                   "%s is an instance of a divided GPU, which is given whole: divide the GPU into "
                   "smaller ones instead",
                   gpu->uuid);
    else
        answer_gpu(call, gpu,
                   broker_set_mode(call->server->broker, gpu, mode, automatic, call->actor));
}

static void box_gone(struct api_call *call)
{
    struct pool_box *box = named_box(call);

    if (box)
        answer_box(call, box, broker_box_gone(call->server->broker, box, call->actor));
}

static void remove_box(struct api_call *call)
{
    struct pool_box *box = named_box(call);
    enum outcome error;

    if (!box)
        return;
    error = broker_remove_box(call->server->broker, box, call->actor);
    if (error == OUTCOME_IN_USE) {
        api_refuse(call, OUTCOME_IN_USE, "leases hold GPUs of the box; say first that it is gone");
        return;
    }
    if (error) {
        api_fail(call, error);
        return;
    }
    json_object_del(call->server->sessions, call->arguments[0]);
    box_http_remove(&call->server->box_states, call->arguments[0]);
    api_answer(call, 200, json_pack("{s:s}", "removed", call->arguments[0]));
}

// A reader of this key can sign tickets for the box.
static void box_key(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    struct ticket_keyring ring;
    char text[1024];
    int size;

    if (broker->keys.count == 0) {
        api_fail(call, OUTCOME_NO_KEY);
        return;
    }
    ticket_keyring_derive(&broker->keys, call->arguments[0], &ring);
    size = ticket_keyring_print(&ring, text, sizeof(text));
    if (size < 0)
        api_fail(call, outcome_of(size));
    else
        api_answer_secret(call, 200, json_object(), "keys", text);
    explicit_bzero(&ring, sizeof(ring));
    explicit_bzero(text, sizeof(text));
}

const struct route box_routes[] = {
    {EVHTTP_REQ_GET, "/v1/boxes", ALLOW_READERS, list_boxes},
    {EVHTTP_REQ_GET, "/v1/gpus", ALLOW_READERS, list_gpus},
    {EVHTTP_REQ_GET, "/v1/sessions", ALLOW_READERS, session_query_list},
    {EVHTTP_REQ_GET, "/v1/boxes/*", ALLOW_READERS, get_box},
    {EVHTTP_REQ_GET, "/v1/gpus/*", ALLOW_READERS, get_gpu},
    {EVHTTP_REQ_PUT, "/v1/boxes/*", ALLOW_BOXES, routes_boxes_register_box},
    {EVHTTP_REQ_POST, "/v1/boxes/*/sync", ALLOW_BOXES, sync_box},
    {EVHTTP_REQ_POST, "/v1/boxes/*/drain", ALLOW_ADMINS, drain_box},
    {EVHTTP_REQ_POST, "/v1/boxes/*/undrain", ALLOW_ADMINS, undrain_box},
    {EVHTTP_REQ_POST, "/v1/boxes/*/gone", ALLOW_ADMINS, box_gone},
    {EVHTTP_REQ_DELETE, "/v1/boxes/*", ALLOW_ADMINS, remove_box},
    {EVHTTP_REQ_GET, "/v1/boxes/*/key", ALLOW_ADMINS, box_key},
    {EVHTTP_REQ_POST, "/v1/gpus/*/drain", ALLOW_ADMINS, drain_gpu},
    {EVHTTP_REQ_POST, "/v1/gpus/*/undrain", ALLOW_ADMINS, undrain_gpu},
    {EVHTTP_REQ_POST, "/v1/gpus/*/mode", ALLOW_ADMINS, routes_boxes_set_mode},
    {0, NULL, 0, NULL},
};
