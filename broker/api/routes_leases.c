// SPDX-License-Identifier: BSD-3-Clause
// Routes of the API for leases and tickets.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/leases/away.h"
#include "broker/pool/explain.h"
#include "broker/leases/leases.h"
#include "broker/leases/moving.h"
#include "broker/pool/queue.h"
#include "broker/pool/request.h"
#include "broker/leases/tickets.h"
#include "broker/http/user_rates.h"
#include "common/base/clock.h"
#include "broker/api/routes.h"
#include "broker/api/view.h"

enum { ENDED_MAX = 1000, NAMED_MAX = 100 }; // in one answer

static bool may_steer(const struct api_call *call, const struct pool_lease *lease)
{
    const struct identity *who = &call->who;

    return who->admin || who->scheduler || (who->has_uid && who->uid == lease->owner);
}

// Returns the name space of the caller's keys: the user's own, or that of all schedulers.
static int64_t keys_of(const struct identity *who)
{
    return who->scheduler || !who->has_uid ? KEYS_OF_SCHEDULERS : (int64_t)who->uid;
}

// A user sees the user's own keys, and a scheduler's keys on leases that were taken for the user. A
// scheduler never takes a user's key for one of its own, even if both have the same text.
static bool sees_key(const struct identity *who, int64_t key_owner, int64_t owner)
{
    if (who->scheduler)
        return key_owner == KEYS_OF_SCHEDULERS;
    return who->has_uid && (int64_t)who->uid == owner &&
           (key_owner == KEYS_OF_SCHEDULERS || key_owner == (int64_t)who->uid);
}

// Returns the lease of a key. A lease that a scheduler took for the caller precedes a lease that
// the caller took.
static struct pool_lease *routes_leases_find_key(const struct api_call *call, const char *key)
{
    const struct pool *pool = call->server->broker->pool;
    struct pool_lease *lease = pool_find_key(pool, KEYS_OF_SCHEDULERS, key), *own;

    if (call->who.scheduler || (lease && sees_key(&call->who, KEYS_OF_SCHEDULERS, lease->owner)))
        return lease;
    own = pool_find_key(pool, keys_of(&call->who), key);
    return own ? own : lease;
}

static json_t *routes_leases_show(const struct api_call *call, const struct pool_lease *lease)
{
    return json_pack("{s:o}", "lease",
                     view_lease(lease, sees_key(&call->who, lease->key_owner, lease->owner)));
}

// The same, and the reason why it waits, if it does.
static json_t *show_with_reason(const struct api_call *call, const struct pool_lease *lease,
                                bool waited)
{
    json_t *answer = routes_leases_show(call, lease);
    char pending[EXPLAIN_MAX];

    (waited ? explain_waiting : explain_lease)(call->server->broker->pool, lease, pending);
    if (*pending)
        json_object_set_new(json_object_get(answer, "lease"), "pending", json_string(pending));
    return answer;
}

// ---- acquire ----

static bool read_acquire(struct api_call *call, struct acquire *acquire)
{
    const json_t *owner = json_object_get(call->body, "owner");
    const struct identity *who = &call->who;
    const char *why;

    memset(acquire, 0, sizeof(*acquire));
    acquire->key = json_string_value(json_object_get(call->body, "key"));
    acquire->key_owner = keys_of(who);
    acquire->asked = call->body;
    acquire->actor = call->actor;
    acquire->wait = json_is_true(json_object_get(call->body, "queue"));
    acquire->with_ticket = json_is_true(json_object_get(call->body, "ticket"));
    acquire->by_user = !who->admin && !who->scheduler;
    acquire->lifetime = json_integer_value(json_object_get(call->body, "lifetime"));
    // The highest number stands for no user.
    if (owner ? !json_is_integer(owner) || json_integer_value(owner) < 0 ||
                    json_integer_value(owner) >= UINT32_MAX
              : !who->has_uid) {
        api_refuse(call, OUTCOME_BAD_REQUEST, "\"owner\" must be a user's number");
        return false;
    }
    acquire->owner = owner ? (uid_t)json_integer_value(owner) : who->uid;
    if (!who->admin && !who->scheduler &&
        (!call->server->settings->user_leases || acquire->owner != who->uid)) {
        api_refuse(call, OUTCOME_FORBIDDEN,
                   "leases are taken by the scheduler here: submit a job, or ask the "
                   "administrator to set user_leases = yes");
        return false;
    }
    if (json_object_get(call->body, "account") && !who->admin && !who->scheduler) {
        api_refuse(call, OUTCOME_FORBIDDEN, "what account pays is the scheduler's to say");
        return false;
    }
    if ((acquire->key && strlen(acquire->key) > 200) || acquire->lifetime < 0 ||
        acquire->lifetime > LIFETIME_MAX) {
        api_refuse(call, OUTCOME_BAD_REQUEST,
                   "\"key\" is too long, or \"lifetime\" "
                   "is negative or beyond a hundred years");
        return false;
    }
    if (request_from_json(json_object_get(call->body, "request"), &acquire->request, &why) < 0) {
        api_refuse(call, OUTCOME_BAD_REQUEST, "request: %s", why);
        return false;
    }
    if (acquire->request.drained && !who->admin) {
        api_refuse(call, OUTCOME_FORBIDDEN, "drained GPUs are for administrators, to test them");
        return false;
    }
    request_set_tenant(&acquire->request, acquire->owner);
    if (call->server->broker->limits.max_lifetime > 0 &&
        (acquire->lifetime == 0 || acquire->lifetime > call->server->broker->limits.max_lifetime))
        acquire->lifetime = call->server->broker->limits.max_lifetime;
    return true;
}

// Ends the call with `body` and a ticket, which is not left in memory.
static void answer_ticket(struct api_call *call, json_t *body, char *bundle)
{
    api_answer_secret(call, 200, body, "ticket", bundle);
    explicit_bzero(bundle, strlen(bundle));
    free(bundle);
}

// Answers with the lease, and with its ticket when one was asked for and it has GPUs.
static void answer_acquire(struct api_call *call, struct pool_lease *lease, bool with_ticket)
{
    struct broker *broker = call->server->broker;
    json_t *body = show_with_reason(call, lease, false);
    char *bundle;
    enum outcome error = OUTCOME_DONE;

    if (with_ticket && lease->state == LEASE_GRANTED) {
        int64_t left = lease->ticket_until - clock_wall_seconds();
        if (left > 0 && left <= broker->limits.max_ticket_seconds)
            error = broker_write_ticket(broker, lease, NULL, lease->ticket_until, &bundle);
        else
            error = broker_issue_ticket(broker, lease, NULL, 0, call->actor, &bundle);
        if (error) {
            json_decref(body);
            api_fail(call, error);
            return;
        }
        answer_ticket(call, body, bundle);
        return;
    }
    api_answer(call, lease->state == LEASE_QUEUED ? 202 : 200, body);
}

static void refuse_acquire(struct api_call *call, const struct request *request, enum outcome error)
{
    const struct broker *broker = call->server->broker;
    char why[EXPLAIN_MAX];

    if (error == OUTCOME_IMPOSSIBLE)
        explain_impossible(broker->pool, request, why);
    else
        explain_request(broker->pool, request, broker->last_sequence + 1, why);
    api_refuse(call, error, "%s: %s", outcomes[error].text, why);
}

// A refused request makes no lease.
static enum outcome acquire_within_rate(struct api_call *call, const struct acquire *acquire,
                                        struct pool_lease **lease)
{
    struct user_rates *rates = call->server->lease_rates;
    char account[API_ACCOUNT_MAX];
    bool counted = api_account(call, account);
    enum outcome error;

    if (counted && !user_rates_take(rates, account))
        return OUTCOME_TOO_FAST;
    error = broker_acquire(call->server->broker, acquire, lease);
    if (counted && error)
        user_rates_give(rates, account);
    return error;
}

static void acquire_lease(struct api_call *call)
{
    struct acquire acquire;
    struct pool_lease *lease;
    enum outcome error;

    call->is_acquire = true;
    if (!read_acquire(call, &acquire))
        return;
    if (acquire.with_ticket && call->server->broker->keys.count == 0) {
        api_fail(call, OUTCOME_NO_KEY);
        return;
    }
    error = acquire_within_rate(call, &acquire, &lease);
    if (error == OUTCOME_TOO_FAST)
        api_refuse(call, error,
                   "new leases come too fast: one user may take %d at once and %d a second; one "
                   "lease serves any number of programs",
                   USER_LEASES_AT_ONCE, USER_LEASES_PER_SECOND);
    else if (error == OUTCOME_BAD_REQUEST)
        api_refuse(call, error, "\"job\" or another text is none, or too long");
    else if (error == OUTCOME_QUEUE_FULL)
        api_refuse(call, error,
                   "too many leases wait already: at most %d of one user and %d in all; release "
                   "some, or ask again later",
                   QUEUE_MAX_OF_USER, QUEUE_MAX);
    else if (error == OUTCOME_BUSY || error == OUTCOME_IMPOSSIBLE)
        refuse_acquire(call, &acquire.request, error);
    else if (error)
        api_fail(call, error);
    else
        answer_acquire(call, lease, acquire.with_ticket);
}

// ---- looking ----

static bool key_begins(const struct api_call *call, const struct pool_lease *lease,
                       const char *prefix)
{
    return lease->key && sees_key(&call->who, lease->key_owner, lease->owner) &&
           !strncmp(lease->key, prefix, strlen(prefix));
}

// An ended lease as this caller may see it.
static json_t *show_ended(const struct api_call *call, json_t *lease)
{
    int64_t key_owner = json_integer_value(json_object_get(lease, "key_owner"));
    int64_t owner = json_integer_value(json_object_get(lease, "owner"));

    if (!sees_key(&call->who, key_owner, owner))
        json_object_del(lease, "key");
    json_object_del(lease, "key_owner");
    return lease;
}

static json_t *list_ended(const struct api_call *call, int64_t owner)
{
    int64_t limit = api_query_number(call, "limit", 100);
    json_t *list = store_ended_leases(call->server->broker->store, owner,
                                      limit > 0 && limit < ENDED_MAX ? (size_t)limit : ENDED_MAX);
    json_t *lease;
    size_t i;

    json_array_foreach(list, i, lease)
        show_ended(call, lease);
    return list;
}

// Oldest first. ?state=, ?owner=, ?key_prefix= (of keys that the caller may see) select. Waiting
// leases get their reason: that reads every GPU for each kind of request, so in a large pool with
// many kinds the others must be queried one by one.
static json_t *list_lease(const struct api_call *call, const struct pool_lease *lease,
                          size_t *looks)
{
    enum { LOOKS_MAX = 400000 }; // at GPUs in one answer
    const struct pool *pool = call->server->broker->pool;
    json_t *row = view_lease(lease, sees_key(&call->who, lease->key_owner, lease->owner));
    char pending[EXPLAIN_MAX];

    if (lease->state == LEASE_QUEUED && *looks < LOOKS_MAX) {
        *looks += TAILQ_FIRST(&lease->queue_class->waiting) == lease ? pool->gpu_count + 1 : 1;
        explain_lease(pool, lease, pending);
        json_object_set_new(row, "pending", json_string(pending));
    }
    return row;
}

static void set_busy(void *object, const struct busy_sum *sum)
{
    json_object_set_new(object, "busy_gpu_seconds", json_real((double)sum->milliseconds / 1000));
    json_object_set_new(object, "energy_joules", json_real((double)sum->millijoules / 1000));
    json_object_set_new(object, "bytes_in", json_integer(sum->bytes_in));
    json_object_set_new(object, "bytes_out", json_integer(sum->bytes_out));
}

static void put_busy(const struct api_call *call, json_t *object, const char *lease)
{
    store_busy_of(call->server->broker->store, lease, set_busy, object);
}

// Returns a lease, ended or not, as this caller may see it; NULL if there is none.
static json_t *show_by_id(const struct api_call *call, const char *id)
{
    const struct broker *broker = call->server->broker;
    const struct pool_lease *lease = pool_find_lease(broker->pool, id);
    json_t *ended = lease ? NULL : store_ended_lease(broker->store, id);
    json_t *shown = lease ? view_lease(lease, sees_key(&call->who, lease->key_owner, lease->owner))
                    : ended ? show_ended(call, ended)
                            : NULL;

    if (shown)
        put_busy(call, shown, id);
    return shown;
}

// Those of "ID,ID,...".
static json_t *list_named(const struct api_call *call, const char *ids)
{
    json_t *list = json_array(), *shown;
    char id[POOL_NAME_MAX];
    size_t length;

    for (size_t i = 0; *ids && i < NAMED_MAX; i++, ids += length + (ids[length] == ',')) {
        length = strcspn(ids, ",");
        if (length >= sizeof(id))
            continue;
        snprintf(id, sizeof(id), "%.*s", (int)length, ids);
        shown = show_by_id(call, id);
        if (shown)
            json_array_append_new(list, shown);
    }
    return list;
}

static void list_leases(struct api_call *call)
{
    size_t looks = 0;
    const char *state = api_query(call, "state");
    const char *prefix = api_query(call, "key_prefix"), *ids = api_query(call, "id");
    int64_t owner = api_query_number(call, "owner", -1);
    const struct pool_lease *lease;
    json_t *list;

    if (ids) {
        api_answer(call, 200, json_pack("{s:o}", "leases", list_named(call, ids)));
        return;
    }
    if (state && !strcmp(state, "ended")) {
        api_answer(call, 200, json_pack("{s:o}", "leases", list_ended(call, owner)));
        return;
    }
    list = json_array();
    TAILQ_FOREACH(lease, &call->server->broker->pool->leases, all)
        if ((owner < 0 || lease->owner == (uid_t)owner) &&
            (!state || !strcmp(state, lease_state_names[lease->state])) &&
            (!prefix || key_begins(call, lease, prefix)))
            json_array_append_new(list, list_lease(call, lease, &looks));
    api_answer(call, 200, json_pack("{s:o}", "leases", list));
}

static bool no_longer_queued(const struct api_call *call)
{
    const struct pool_lease *lease =
        pool_find_lease(call->server->broker->pool, call->arguments[0]);

    return !lease || lease->state != LEASE_QUEUED;
}

// With ?wait=SECONDS the answer comes when the lease no longer waits, or when the time is up.
// Thousands may wait so, and a look at all GPUs for each would take the broker's time.
static void get_lease(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    struct pool_lease *lease = pool_find_lease(broker->pool, call->arguments[0]);
    int64_t wait = api_query_number(call, "wait", 0);
    json_t *ended;

    call->awaits_grant = wait > 0;
    if (lease && lease->state == LEASE_QUEUED && api_long_poll(call, wait, no_longer_queued))
        return;
    if (lease) {
        json_t *shown = show_with_reason(call, lease, wait > 0);
        put_busy(call, json_object_get(shown, "lease"), lease->id);
        api_answer(call, 200, shown);
        return;
    }
    ended = show_by_id(call, call->arguments[0]);
    if (ended)
        api_answer(call, 200, json_pack("{s:o}", "lease", ended));
    else
        api_refuse(call, OUTCOME_NOT_FOUND, "no lease %s", call->arguments[0]);
}

// ---- ending ----

static const char *key_in(const struct api_call *call)
{
    return json_string_value(json_object_get(call->body, "key"));
}

static bool key_is_free(const struct api_call *call)
{
    return !pool_find_key(call->server->broker->pool, keys_of(&call->who), key_in(call));
}

// Answers when the lease has ended, or after WAIT seconds. Only a call with a key may wait.
static void end_lease(struct api_call *call, struct pool_lease *lease, const char *reason,
                      int64_t wait)
{
    char id[POOL_NAME_MAX];
    enum outcome error;

    if (!may_steer(call, lease)) {
        api_refuse(call, OUTCOME_FORBIDDEN, "lease %s is not yours", lease->id);
        return;
    }
    strcpy(id, lease->id);
    error = broker_end_lease(call->server->broker, &lease, reason, call->actor);
    if (error)
        api_fail(call, error);
    else if (!lease || !api_long_poll(call, wait, key_is_free))
        api_answer(call, 200,
                   json_pack("{s:{s:s, s:s}}", "lease", "id", id, "state",
                             lease ? "ending" : "ended"));
}

// Releasing twice is no error: a client that repeats a request after a lost answer gets success.
static void answer_if_ended(struct api_call *call, const char *id, const char *key)
{
    struct store *store = call->server->broker->store;
    json_t *ended = id ? store_ended_lease(store, id)
                       : store_ended_key(store, keys_of(&call->who), key);

    if (ended)
        api_answer(call, 200, json_pack("{s:o}", "lease", show_ended(call, ended)));
    else
        api_refuse(call, OUTCOME_NOT_FOUND, "no lease %s", id ? id : key);
}

static void delete_lease(struct api_call *call)
{
    struct pool_lease *lease = pool_find_lease(call->server->broker->pool, call->arguments[0]);

    if (lease)
        end_lease(call, lease, "released", 0);
    else
        answer_if_ended(call, call->arguments[0], NULL);
}

static void revoke_lease(struct api_call *call)
{
    struct pool_lease *lease = pool_find_lease(call->server->broker->pool, call->arguments[0]);

    if (!lease) {
        answer_if_ended(call, call->arguments[0], NULL);
        return;
    }
    if (may_steer(call, lease))
        call->server->broker->counters.revocations++;
    end_lease(call, lease, "revoked", 0);
}

// By the caller's key, and also before the acquire has come: then that one will get nothing.
static void release_key(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    const char *key = key_in(call);
    struct pool_lease *lease;
    enum outcome error;

    if (!key || !*key || strlen(key) > 200) {
        api_refuse(call, OUTCOME_BAD_REQUEST, "\"key\" must be a text of at most 200 characters");
        return;
    }
    lease = pool_find_key(broker->pool, keys_of(&call->who), key);
    if (lease) {
        end_lease(call, lease, "released", json_integer_value(json_object_get(call->body, "wait")));
        return;
    }
    error = broker_release_unknown(broker, keys_of(&call->who), key, call->who.uid, call->actor);
    if (error)
        api_fail(call, error);
    else
        answer_if_ended(call, NULL, key);
}

// The lease that the caller may steer; NULL: that has been refused, and the call is freed.
static struct pool_lease *steered_lease(struct api_call *call)
{
    struct pool_lease *lease = pool_find_lease(call->server->broker->pool, call->arguments[0]);

    if (lease && may_steer(call, lease))
        return lease;
    if (lease)
        api_refuse(call, OUTCOME_FORBIDDEN, "lease %s is not yours", lease->id);
    else
        api_refuse(call, OUTCOME_ENDED, "no lease %s lives", call->arguments[0]);
    return NULL;
}

static void steer_lease(struct api_call *call,
                        enum outcome (*order)(struct broker *, struct pool_lease *, const char *))
{
    struct pool_lease *lease = steered_lease(call);
    enum outcome error = lease ? order(call->server->broker, lease, call->actor) : OUTCOME_DONE;

    if (error)
        api_fail(call, error);
    else if (lease)
        api_answer(call, 200, routes_leases_show(call, lease));
}

static void suspend_lease(struct api_call *call)
{
    steer_lease(call, broker_suspend_lease);
}

static void resume_lease(struct api_call *call)
{
    steer_lease(call, broker_resume_lease);
}

// Returns the GPU of the lease that the request means. NULL: the request is ambiguous or wrong, and
// has been refused.
static struct pool_hold *hold_meant(struct api_call *call, struct pool_lease *lease)
{
    const char *from = json_string_value(json_object_get(call->body, "from"));
    const struct pool_gpu *gpu = from ? pool_gpu_named(call->server->broker->pool, from) : NULL;
    struct pool_hold *found = NULL;

    if (!from && lease->hold_count > 1) {
        api_refuse(call, OUTCOME_BAD_REQUEST,
                   "lease %s has %zu GPUs: \"from\" says which one is meant", lease->id,
                   lease->hold_count);
        return NULL;
    }
    for (size_t i = 0; i < lease->hold_count; i++)
        if (hold_stands(&lease->holds[i]) && (!from || lease->holds[i].gpu == gpu))
            found = &lease->holds[i];
    if (!found)
        api_refuse(call, OUTCOME_IMMOVABLE, "lease %s does not have %s", lease->id,
                   from ? from : "any GPU now");
    return found;
}

static void move_lease(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    const char *to = json_string_value(json_object_get(call->body, "to"));
    struct pool_lease *lease = steered_lease(call); // NULL: call->body is freed
    struct pool_gpu *gpu;
    char text[256];

    if (!lease)
        return;
    gpu = to ? pool_gpu_named(broker->pool, to) : NULL;
    if (!gpu) {
        api_refuse(call, to ? OUTCOME_NOT_FOUND : OUTCOME_BAD_REQUEST,
                   to ? "no GPU %s; name it by UUID or as BOX:INDEX" : "\"to\" must name a GPU%s",
                   to ? to : "");
        return;
    }
    struct pool_hold *hold = hold_meant(call, lease);
    if (!hold)
        return;
    const char *why = move_objection(lease, hold, gpu, text, sizeof(text));
    if (why) {
        api_refuse(call, OUTCOME_IMMOVABLE, "lease %s cannot go to %s: %s", lease->id, to, why);
        return;
    }
    enum outcome error = broker_move_lease(broker, lease, hold, gpu, call->actor);
    if (error)
        api_fail(call, error);
    else
        api_answer(call, 200, routes_leases_show(call, lease));
}

static void renew_lease(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    json_int_t lifetime = json_integer_value(json_object_get(call->body, "lifetime"));
    struct pool_lease *lease = steered_lease(call); // NULL: call->body is freed
    enum outcome error;

    if (!lease)
        return;
    if (lifetime < 0 || lifetime > LIFETIME_MAX) {
        api_refuse(call, OUTCOME_BAD_REQUEST,
                   "\"lifetime\" is a number of seconds, at most a hundred years");
        return;
    }
    if (broker->limits.max_lifetime > 0 &&
        (lifetime == 0 || lifetime > broker->limits.max_lifetime))
        lifetime = broker->limits.max_lifetime;
    error = broker_renew(broker, lease, lifetime, call->actor);
    if (error)
        api_fail(call, error);
    else
        api_answer(call, 200, routes_leases_show(call, lease));
}

// ---- tickets ----

// "gpus": places in the lease, for a ticket that opens some of its GPUs only.
static bool read_places(struct api_call *call, const struct pool_lease *lease, bool *chosen)
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
    api_refuse(call, OUTCOME_BAD_REQUEST, "\"gpus\" are places from 0 in the lease's %zu GPUs",
               lease->hold_count);
    return false;
}

static void issue_ticket(struct api_call *call)
{
    bool chosen[REQUEST_GPUS_MAX] = {false};
    struct broker *broker = call->server->broker;
    const char *id = json_string_value(json_object_get(call->body, "lease"));
    const char *key = json_string_value(json_object_get(call->body, "key"));
    json_int_t seconds = json_integer_value(json_object_get(call->body, "lifetime"));
    struct pool_lease *lease = id    ? pool_find_lease(broker->pool, id)
                               : key ? routes_leases_find_key(call, key)
                                     : NULL;
    json_t *body;
    char *bundle;
    enum outcome error;

    if (!lease) {
        api_refuse(call, id || key ? OUTCOME_ENDED : OUTCOME_BAD_REQUEST,
                   id || key ? "no such lease lives" : "\"lease\" or \"key\" must name a lease");
        return;
    }
    if (!may_steer(call, lease)) {
        api_refuse(call, OUTCOME_FORBIDDEN, "lease %s is not yours", lease->id);
        return;
    }
    if (lease->state == LEASE_QUEUED) {
        api_refuse(call, OUTCOME_QUEUED, "lease %s still waits for GPUs", lease->id);
        return;
    }
    if (!read_places(call, lease, chosen))
        return;
    error = broker_issue_ticket(broker, lease, json_object_get(call->body, "gpus") ? chosen : NULL,
                                seconds, call->actor, &bundle);
    if (error == OUTCOME_TOO_LONG)
        api_refuse(call, error,
                   "\"lifetime\" of a ticket is from 1 to %lld seconds here (max_ticket_lifetime)",
                   (long long)broker->limits.max_ticket_seconds);
    else if (error)
        api_fail(call, error);
    if (error)
        return;
    body = json_pack("{s:s, s:I}", "lease", lease->id, "until", (json_int_t)lease->ticket_until);
    answer_ticket(call, body, bundle);
}

const struct route lease_routes[] = {
    {EVHTTP_REQ_POST, "/v1/leases", ALLOW_USERS | ALLOW_SCHEDULERS, acquire_lease},
    {EVHTTP_REQ_GET, "/v1/leases", ALLOW_READERS, list_leases},
    {EVHTTP_REQ_POST, "/v1/leases/release", ALLOW_SCHEDULERS, release_key},
    {EVHTTP_REQ_GET, "/v1/leases/*", ALLOW_READERS, get_lease},
    {EVHTTP_REQ_DELETE, "/v1/leases/*", ALLOW_USERS | ALLOW_SCHEDULERS, delete_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/revoke", ALLOW_USERS | ALLOW_SCHEDULERS, revoke_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/suspend", ALLOW_USERS | ALLOW_SCHEDULERS, suspend_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/resume", ALLOW_USERS | ALLOW_SCHEDULERS, resume_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/move", ALLOW_ADMINS, move_lease},
    {EVHTTP_REQ_POST, "/v1/leases/*/renew", ALLOW_USERS | ALLOW_SCHEDULERS, renew_lease},
    {EVHTTP_REQ_POST, "/v1/tickets", ALLOW_USERS | ALLOW_SCHEDULERS, issue_ticket},
    {0, NULL, 0, NULL},
};
