// SPDX-License-Identifier: BSD-3-Clause
// Routes of the API for boxes and GPUs: queries, and orders of administrators.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/api/box_reports.h"
#include "broker/leases/boxes.h"
#include "broker/leases/drain.h"
#include "broker/leases/moving.h"
#include "broker/api/routes.h"
#include "broker/api/session_query.h"
#include "broker/api/view.h"

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
    struct pool_box *box = api_named_box(call);
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
    struct pool_box *box = api_named_box(call);
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
    struct pool_box *box = api_named_box(call);

    if (box)
        answer_box(call, box, broker_box_gone(call->server->broker, box, call->actor));
}

static void remove_box(struct api_call *call)
{
    struct pool_box *box = api_named_box(call);
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
    {EVHTTP_REQ_PUT, "/v1/boxes/*", ALLOW_BOXES, box_reports_register},
    {EVHTTP_REQ_POST, "/v1/boxes/*/sync", ALLOW_BOXES, box_reports_sync},
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
