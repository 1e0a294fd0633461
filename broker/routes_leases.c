/* The API's part on leases and tickets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http.h"
#include "broker/request.h"
#include "broker/view.h"

static bool may_steer(const struct call *call, const struct pool_lease *lease)
{
    const struct identity *who = &call->who;

    return who->admin || who->scheduler || (who->has_uid && who->uid == lease->owner);
}

static json_t *show(const struct call *call, const struct pool_lease *lease)
{
    return json_pack("{s:o}", "lease", view_lease(lease, may_steer(call, lease)));
}

/* ---- acquire ---- */

static bool read_acquire(struct call *call, struct acquire *acquire)
{
    const json_t *owner = json_object_get(call->body, "owner");
    const struct identity *who = &call->who;
    const char *why;

    memset(acquire, 0, sizeof(*acquire));
    acquire->key = json_string_value(json_object_get(call->body, "key"));
    acquire->job = json_string_value(json_object_get(call->body, "job"));
    acquire->actor = call->actor;
    acquire->wait = json_is_true(json_object_get(call->body, "queue"));
    acquire->with_ticket = json_is_true(json_object_get(call->body, "ticket"));
    acquire->lifetime = json_integer_value(json_object_get(call->body, "lifetime"));
    if (owner ? !json_is_integer(owner) : !who->has_uid) {
        call_refuse(call, 400, "bad-request", "\"owner\" must be a user's number");
        return false;
    }
    acquire->owner = owner ? (uid_t)json_integer_value(owner) : who->uid;
    if (!who->admin && !who->scheduler &&
        (!call->server->settings->user_leases || acquire->owner != who->uid)) {
        call_refuse(call, 403, "forbidden",
                    "leases are taken by the scheduler here: submit a job, or ask the "
                    "administrator to set user_leases = yes");
        return false;
    }
    if ((acquire->key && strlen(acquire->key) > 200) || (acquire->job && strlen(acquire->job) > 120)
        || acquire->lifetime < 0) {
        call_refuse(call, 400, "bad-request", "\"key\" or \"job\" is too long, or \"lifetime\" "
                    "is negative");
        return false;
    }
    if (request_from_json(json_object_get(call->body, "request"), &acquire->request, &why) < 0) {
        call_refuse(call, 400, "bad-request", "request: %s", why);
        return false;
    }
    if (call->server->broker->limits.max_lifetime > 0 &&
        (acquire->lifetime == 0 ||
         acquire->lifetime > call->server->broker->limits.max_lifetime))
        acquire->lifetime = call->server->broker->limits.max_lifetime;
    return true;
}

static void refuse_acquire(struct call *call, int error, const struct acquire *acquire)
{
    switch (error) {
    case -EAGAIN:
        call_refuse(call, 409, "busy", "no GPUs are free for this now; ask to queue, or later");
        return;
    case -E2BIG:
        call_refuse(call, 422, "impossible",
                    "no set of GPUs in this pool could ever satisfy the request");
        return;
    case -EEXIST:
        call_refuse(call, 409, "key-reused", "key \"%s\" was used for another request",
                    acquire->key);
        return;
    }
    call_fail(call, error);
}

/* Answers with the lease, and with its ticket when one was asked for and it has GPUs. */
static void answer_acquire(struct call *call, struct pool_lease *lease, bool with_ticket)
{
    struct broker *broker = call->server->broker;
    json_t *body = show(call, lease);
    char *bundle;
    int error = 0;

    if (with_ticket && lease->state == LEASE_GRANTED) {
        if (lease->ticket_until > broker_wall())
            error = broker_write_ticket(broker, lease, NULL, lease->ticket_until, &bundle);
        else
            error = broker_issue_ticket(broker, lease, NULL, 0, call->actor, &bundle);
        if (error) {
            json_decref(body);
            call_fail(call, error);
            return;
        }
        error = auth_put_secret(call->server->auth, &call->who, body, "ticket", bundle);
        explicit_bzero(bundle, strlen(bundle));
        free(bundle);
        if (error) {
            json_decref(body);
            call_fail(call, error);
            return;
        }
    }
    call_answer(call, lease->state == LEASE_QUEUED ? 202 : 200, body);
}

static void acquire_lease(struct call *call)
{
    struct acquire acquire;
    struct pool_lease *lease;
    int error;

    if (!read_acquire(call, &acquire))
        return;
    if (acquire.with_ticket && call->server->broker->keys.count == 0) {
        call_fail(call, -ENOKEY);
        return;
    }
    error = broker_acquire(call->server->broker, &acquire, &lease);
    if (error)
        refuse_acquire(call, error, &acquire);
    else
        answer_acquire(call, lease, acquire.with_ticket);
}

/* ---- looking ---- */

static bool key_begins(const struct call *call, const struct pool_lease *lease, const char *prefix)
{
    return lease->key && may_steer(call, lease) && !strncmp(lease->key, prefix, strlen(prefix));
}

/* Oldest first. ?state=, ?owner=, ?key_prefix= (of keys that the caller may see) choose. */
static void list_leases(struct call *call)
{
    const char *state = call_query(call, "state");
    const char *prefix = call_query(call, "key_prefix");
    int64_t owner = call_query_number(call, "owner", -1);
    const struct pool_lease *lease;
    json_t *list;

    if (state && !strcmp(state, "ended")) {
        list = store_ended_leases(call->server->broker->store, owner,
                                  (size_t)call_query_number(call, "limit", 100));
        call_answer(call, 200, json_pack("{s:o}", "leases", list));
        return;
    }
    list = json_array();
    TAILQ_FOREACH(lease, &call->server->broker->pool->leases, all)
        if ((owner < 0 || lease->owner == (uid_t)owner) &&
            (!state || !strcmp(state, lease_state_names[lease->state])) &&
            (!prefix || key_begins(call, lease, prefix)))
            json_array_append_new(list, view_lease(lease, may_steer(call, lease)));
    call_answer(call, 200, json_pack("{s:o}", "leases", list));
}

static bool no_longer_queued(const struct call *call)
{
    const struct pool_lease *lease =
        pool_find_lease(call->server->broker->pool, call->arguments[0]);

    return !lease || lease->state != LEASE_QUEUED;
}

/* With ?wait=SECONDS the answer comes when the lease no longer waits, or when the time is up. */
static void get_lease(struct call *call)
{
    struct broker *broker = call->server->broker;
    struct pool_lease *lease = pool_find_lease(broker->pool, call->arguments[0]);
    int64_t wait = call_query_number(call, "wait", 0);
    json_t *ended;

    if (lease && lease->state == LEASE_QUEUED && wait > 0 && !call_expired(call)) {
        call_wait(call, (double)(wait < CALL_WAIT_MAX ? wait : CALL_WAIT_MAX),
                  no_longer_queued);
        return;
    }
    if (lease) {
        call_answer(call, 200, show(call, lease));
        return;
    }
    ended = store_ended_lease(broker->store, call->arguments[0], NULL);
    if (ended)
        call_answer(call, 200, json_pack("{s:o}", "lease", ended));
    else
        call_refuse(call, 404, "not-found", "no lease %s", call->arguments[0]);
}

/* ---- ending ---- */

static void end_lease(struct call *call, struct pool_lease *lease, const char *reason)
{
    char id[POOL_NAME_MAX];
    int error;

    if (!may_steer(call, lease)) {
        call_refuse(call, 403, "forbidden", "lease %s is not yours", lease->id);
        return;
    }
    strcpy(id, lease->id);
    error = broker_end_lease(call->server->broker, &lease, reason, call->actor);
    if (error)
        call_fail(call, error);
    else
        call_answer(call, 200, json_pack("{s:{s:s, s:s}}", "lease", "id", id, "state",
                                         lease ? "ending" : "ended"));
}

/* Releasing twice is no error: who repeats a request that may have got through hears success. */
static void answer_if_ended(struct call *call, const char *id, const char *key)
{
    json_t *ended = store_ended_lease(call->server->broker->store, id, key);

    if (ended)
        call_answer(call, 200, json_pack("{s:o}", "lease", ended));
    else
        call_refuse(call, 404, "not-found", "no lease %s", id ? id : key);
}

static void delete_lease(struct call *call)
{
    struct pool_lease *lease =
        pool_find_lease(call->server->broker->pool, call->arguments[0]);

    if (lease)
        end_lease(call, lease, "released");
    else
        answer_if_ended(call, call->arguments[0], NULL);
}

static void revoke_lease(struct call *call)
{
    struct pool_lease *lease =
        pool_find_lease(call->server->broker->pool, call->arguments[0]);

    if (!lease) {
        answer_if_ended(call, call->arguments[0], NULL);
        return;
    }
    call->server->broker->counters.revocations++;
    end_lease(call, lease, "revoked");
}

/* By the caller's key, and also before the acquire has come: then that one will get nothing. */
static void release_key(struct call *call)
{
    struct broker *broker = call->server->broker;
    const char *key = json_string_value(json_object_get(call->body, "key"));
    struct pool_lease *lease;
    int error;

    if (!key || !*key || strlen(key) > 200) {
        call_refuse(call, 400, "bad-request", "\"key\" must be a text of at most 200 characters");
        return;
    }
    lease = pool_find_key(broker->pool, key);
    if (lease) {
        end_lease(call, lease, "released");
        return;
    }
    error = broker_release_unknown(broker, key, call->who.uid, call->actor);
    if (error)
        call_fail(call, error);
    else
        answer_if_ended(call, NULL, key);
}

static void renew_lease(struct call *call)
{
    struct broker *broker = call->server->broker;
    struct pool_lease *lease = pool_find_lease(broker->pool, call->arguments[0]);
    json_int_t lifetime = json_integer_value(json_object_get(call->body, "lifetime"));
    int error;

    if (!lease) {
        call_refuse(call, 410, "ended", "no lease %s lives", call->arguments[0]);
        return;
    }
    if (!may_steer(call, lease)) {
        call_refuse(call, 403, "forbidden", "lease %s is not yours", lease->id);
        return;
    }
    if (lifetime < 0) {
        call_refuse(call, 400, "bad-request", "\"lifetime\" is a number of seconds");
        return;
    }
    if (broker->limits.max_lifetime > 0 &&
        (lifetime == 0 || lifetime > broker->limits.max_lifetime))
        lifetime = broker->limits.max_lifetime;
    error = broker_renew(broker, lease, lifetime, call->actor);
    if (error)
        call_fail(call, error);
    else
        call_answer(call, 200, show(call, lease));
}

/* ---- tickets ---- */

/* "gpus": places in the lease, for a ticket that opens some of its GPUs only. */
static bool read_places(struct call *call, const struct pool_lease *lease, bool *chosen)
{
    const json_t *list = json_object_get(call->body, "gpus"), *place;
    size_t i;

    if (!list)
        return true;
    json_array_foreach(list, i, place) {
        json_int_t number = json_is_integer(place) ? json_integer_value(place) : -1;
        if (number < 0 || (size_t)number >= lease->hold_count)
            break;
        chosen[number] = true;
    }
    if (json_array_size(list) > 0 && i == json_array_size(list))
        return true;
    call_refuse(call, 400, "bad-request", "\"gpus\" are places from 0 in the lease's %zu GPUs",
                lease->hold_count);
    return false;
}

static void issue_ticket(struct call *call)
{
    bool chosen[REQUEST_GPUS_MAX] = {false};
    struct broker *broker = call->server->broker;
    const char *id = json_string_value(json_object_get(call->body, "lease"));
    const char *key = json_string_value(json_object_get(call->body, "key"));
    json_int_t seconds = json_integer_value(json_object_get(call->body, "lifetime"));
    struct pool_lease *lease = id    ? pool_find_lease(broker->pool, id)
                               : key ? pool_find_key(broker->pool, key)
                                     : NULL;
    json_t *body;
    char *bundle;
    int error;

    if (!lease) {
        call_refuse(call, id || key ? 410 : 400, id || key ? "ended" : "bad-request",
                    id || key ? "no such lease lives" : "\"lease\" or \"key\" must name a lease");
        return;
    }
    if (!may_steer(call, lease)) {
        call_refuse(call, 403, "forbidden", "lease %s is not yours", lease->id);
        return;
    }
    if (lease->state == LEASE_QUEUED) {
        call_refuse(call, 409, "queued", "lease %s still waits for GPUs", lease->id);
        return;
    }
    if (!read_places(call, lease, chosen))
        return;
    error = broker_issue_ticket(broker, lease, json_object_get(call->body, "gpus") ? chosen : NULL,
                                seconds, call->actor, &bundle);
    if (error) {
        call_fail(call, error);
        return;
    }
    body = json_pack("{s:s, s:I}", "lease", lease->id, "until", (json_int_t)lease->ticket_until);
    error = auth_put_secret(call->server->auth, &call->who, body, "ticket", bundle);
    explicit_bzero(bundle, strlen(bundle));
    free(bundle);
    if (error) {
        json_decref(body);
        call_fail(call, error);
    } else {
        call_answer(call, 200, body);
    }
}

const struct route lease_routes[] = {
    {EVHTTP_REQ_POST, "/v1/leases", ALLOW_USERS | ALLOW_SCHEDULERS, acquire_lease},
    {EVHTTP_REQ_GET, "/v1/leases", ALLOW_READERS, list_leases},
    {EVHTTP_REQ_POST, "/v1/leases/release", ALLOW_SCHEDULERS, release_key},
    {EVHTTP_REQ_GET, "/v1/leases/*", ALLOW_READERS, get_lease},
    {EVHTTP_REQ_DELETE, "/v1/leases/*", ALLOW_USERS | ALLOW_SCHEDULERS, delete_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/revoke", ALLOW_ADMINS, revoke_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/renew", ALLOW_USERS | ALLOW_SCHEDULERS, renew_lease},
    {EVHTTP_REQ_POST, "/v1/tickets", ALLOW_USERS | ALLOW_SCHEDULERS, issue_ticket},
    {0, NULL, 0, NULL},
};
