// SPDX-License-Identifier: BSD-3-Clause
// The API's part for schedulers with queues of their own: what the pool can take of their requests,
// and which of them a prefix of keys belongs to.
#include <string.h>

#include "broker/api/routes.h"
#include "broker/leases/scheduler_names.h"
#include "broker/pool/capacity.h"
#include "common/base/clock.h"

// For schedulers: keys of leases are shown, and requests are tried.
static void post_capacity(struct api_call *call)
{
    enum { COUNT_MAX = 64, REQUESTS_MAX = 256, PLAN_SECONDS = 15 };
    struct broker *broker = call->server->broker;
    const char *prefix = json_string_value(json_object_get(call->body, "key_prefix"));
    const json_t *requests = json_object_get(call->body, "requests");
    const json_t *preempt = json_object_get(call->body, "preempt");
    json_int_t limit = json_integer_value(json_object_get(call->body, "limit"));
    struct capacity_query query = {
        .key_prefix = prefix ? prefix : "",
        .requests = requests,
        .request = json_object_get(preempt, "request"),
        .keys = json_object_get(preempt, "keys"),
        .holders = json_object_get(call->body, "holders"),
        .lenders = json_object_get(call->body, "lenders"),
        .waiting = json_object_get(call->body, "waiting"),
        .next = json_object_get(call->body, "next"),
        .limit = (uint32_t)(limit > 0 && limit < COUNT_MAX ? limit : COUNT_MAX),
        .sequence = broker->last_sequence + 1,
    };
    const char *why = "\"key_prefix\" must be a text";
    bool keeps = broker->pool->planned_count > 0; // GPUs, which others may have after this
    json_t *view = NULL;

    if (json_array_size(requests) > REQUESTS_MAX)
        why = "too many \"requests\" at once";
    else if (prefix && (!requests || json_is_array(requests)))
        view = capacity_view(broker->pool, &query, &why);
    if (!view && !why) {
        api_fail(call, OUTCOME_NO_MEMORY);
        return;
    }
    if (!view) {
        api_refuse(call, OUTCOME_BAD_REQUEST, "%s", why);
        return;
    }
    if (!strcmp(broker->pool->planned_prefix, query.key_prefix))
        broker->pool->planned_until = clock_seconds() + PLAN_SECONDS;
    broker->queue_dirty |= keeps || broker->pool->planned_count > 0;
    json_object_set_new(view, "last", json_integer((json_int_t)broker->last_event));
    api_answer(call, 200, view);
}

// ---- names of schedulers ----

// {"key_prefix": TEXT, "scheduler": TEXT}
static void post_schedulers(struct api_call *call)
{
    const char *prefix = json_string_value(json_object_get(call->body, "key_prefix"));
    const char *name = json_string_value(json_object_get(call->body, "scheduler")), *owner;
    enum outcome error;

    if (!prefix || !*prefix || !name || !*name || strlen(prefix) > 200 || strlen(name) > 300) {
        api_refuse(call, OUTCOME_BAD_REQUEST,
                   "\"key_prefix\" and \"scheduler\" must be texts of at most 200 and 300 "
                   "characters");
        return;
    }
    error = scheduler_names_claim(call->server->broker, prefix, name, call->actor, &owner);
    if (!error)
        api_answer(call, 200, json_object());
    else if (error == OUTCOME_NAME_TAKEN)
        api_refuse(call, error,
                   "keys that begin with \"%s\" belong to the scheduler at %s; the one at %s needs "
                   "a name of its own (cluster in section [slurm] of /etc/rgpu/slurm.conf)",
                   prefix, owner, name);
    else if (error == OUTCOME_TOO_FAST)
        api_refuse(call, error, "there are too many schedulers already");
    else
        api_fail(call, error);
}

const struct route scheduler_routes[] = {
    {EVHTTP_REQ_POST, "/v1/capacity", ALLOW_SCHEDULERS, post_capacity},
    {EVHTTP_REQ_POST, "/v1/schedulers", ALLOW_SCHEDULERS, post_schedulers},
    {0, NULL, 0, NULL},
};
