// SPDX-License-Identifier: BSD-3-Clause
// Sends answers, at once or when the commit is durable; makes calls wait; and parses requests.
#include "broker/api/api_call.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "broker/leases/queue_pass.h"
#include "broker/leases/leases.h"
#include "broker/http/user_rates.h"
#include "common/base/clock.h"
#include "common/security/api_auth.h"
#include "common/base/scope.h"

enum { LONG_POLL_MAX = 60 }; // seconds

// An answer that must not be sent before the change that it reports is durable.
struct held_answer {
    uint64_t commit;
    double since;
    int status;
    const char *type, *headers;
    char *text;
    size_t size;
};

static void held_free(struct held_answer **held)
{
    if (!*held)
        return;
    explicit_bzero((*held)->text, (*held)->size);
    free((*held)->text);
    free(*held);
    *held = NULL;
}

static void stop_waiting(struct api_call *call)
{
    struct box_http *state;

    if (call->waits)
        TAILQ_REMOVE(call->ready ? &call->server->calls : &call->server->box_calls, call, waiting);
    if (call->waits && !call->ready) {
        state = box_http(&call->server->box_states, call->arguments[0]);
        if (state->call == call)
            state->call = NULL;
    }
    call->waits = false;
    if (call->timer)
        event_free(call->timer);
    call->timer = NULL;
}

void api_end(struct api_call *call)
{
    stop_waiting(call);
    if (call->held)
        TAILQ_REMOVE(&call->server->held, call, waiting);
    held_free(&call->held);
    auth_cancel(&call->job);
    explicit_bzero(&call->who, sizeof(call->who));
    evhttp_clear_headers(&call->query);
    json_decref(call->body);
    free(call->path);
    free(call->segments);
    free(call);
}

static void api_call_hold(struct api_call *call, const struct connection_answer *answer,
                          uint64_t commit)
{
    struct held_answer *held = calloc(1, sizeof(*held));
    char *text = malloc(answer->size + 1);

    if (!held || !text)
        abort(); // the database has the call's changes: a restart continues from there
    stop_waiting(call);
    *held = (struct held_answer){.commit = commit,
                                 .since = clock_boot_seconds(),
                                 .status = answer->status,
                                 .type = answer->type,
                                 .headers = answer->headers,
                                 .text = text,
                                 .size = answer->size};
    memcpy(text, answer->text, answer->size);
    call->held = held;
    TAILQ_INSERT_TAIL(&call->server->held, call, waiting);
}

// With the proof that it is our answer to this request, where the asker can check one.
static void deliver(struct api_call *call, const struct connection_answer *answer)
{
    struct connection_answer proven = *answer;
    SCOPED_FREE char *headers = NULL;
    char proof[API_DIGEST_TEXT];

    if (call->who.has_secret) {
        api_prove(call->who.secret, call->who.nonce, answer->status, answer->text, answer->size,
                  proof);
        if (asprintf(&headers, "%s" API_PROOF_HEADER ": Rgpu %s\r\n",
                     answer->headers ? answer->headers : "", proof) < 0)
            abort(); // out of memory, where libevent and jansson abort as well
        proven.headers = headers;
    }
    if (call->is_acquire)
        histogram_add(&call->server->acquires, clock_boot_seconds() - call->arrived);
    connection_answer(call->connection, &proven);
    api_end(call);
}

// A call that only reads does not wait for the disk. A call that waits for a grant does, because a
// power failure could undo the grant. A call that may change something waits even if
// the change had been made before, because the earlier call's change may not be durable yet.
static void send_answer(struct api_call *call, int status, const char *type, const char *text,
                        size_t size)
{
    struct connection_answer answer = {
        .status = status, .type = type, .headers = call->headers, .text = text, .size = size};
    struct store *store = call->server->broker->store;
    uint64_t commit = store_committed(store);

    if ((call->head->method != EVHTTP_REQ_GET || call->awaits_grant) && status < 300 &&
        store_durable(store) < commit) {
        api_call_hold(call, &answer, commit);
        return;
    }
    deliver(call, &answer);
}

void give_held(struct server *server)
{
    uint64_t durable = store_durable(server->broker->store);
    struct api_call *call;

    while ((call = TAILQ_FIRST(&server->held)) && call->held->commit <= durable) {
        struct connection_answer answer = {.status = call->held->status,
                                           .type = call->held->type,
                                           .headers = call->held->headers,
                                           .text = call->held->text,
                                           .size = call->held->size};

        histogram_add(&server->sync_waits, clock_boot_seconds() - call->held->since);
        deliver(call, &answer);
    }
}

void api_answer_text(struct api_call *call, const char *type, const char *text, size_t size)
{
    send_answer(call, 200, type, text, size);
}

// An answer from rows that could not be read would be wrong.
void api_answer(struct api_call *call, int status, json_t *body)
{
    enum outcome error = store_take_read_error(call->server->broker->store);
    if (error) {
        json_decref(body);
        api_fail(call, error);
        return;
    }
    SCOPED_FREE char *text = json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(body);
    send_answer(call, text ? status : 500, "application/json", text ? text : "{}",
                text ? strlen(text) : 2);
}

void api_refuse(struct api_call *call, enum outcome outcome, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    api_answer(call, outcomes[outcome].status,
               json_pack("{s:{s:s, s:s}}", "error", "code", outcomes[outcome].code, "message",
                         message));
}

void api_fail(struct api_call *call, enum outcome outcome)
{
    api_refuse(call, outcome, "%s", outcomes[outcome].text);
}

// ---- secrets in answers ----

void api_answer_secret(struct api_call *call, int status, json_t *body, const char *name,
                       const char *secret)
{
    SCOPED_FREE char *sealed = NULL;
    char member[64];
    enum outcome error;

    if (call->who.local) {
        json_object_set_new(body, name, json_string(secret));
        api_answer(call, status, body);
        return;
    }
    snprintf(member, sizeof(member), "sealed_%s", name);
    error = auth_seal(&call->who, secret, &sealed);
    if (!error && json_object_set_new(body, member, json_string(sealed)))
        error = OUTCOME_NO_MEMORY;
    if (!error) {
        api_answer(call, status, body);
        return;
    }
    json_decref(body);
    api_fail(call, error);
}

// ---- the caller's allowance ----

bool api_account(const struct api_call *call, char account[API_ACCOUNT_MAX])
{
    const struct identity *who = &call->who;

    if (who->admin || who->scheduler || who->box)
        return false;
    if (who->has_uid)
        snprintf(account, API_ACCOUNT_MAX, "uid=%u", who->uid);
    else
        snprintf(account, API_ACCOUNT_MAX, "%s", connection_peer(call->connection));
    return true;
}

void api_refuse_fast(struct api_call *call)
{
    api_refuse(call, OUTCOME_TOO_FAST,
               "requests come too fast: one user or address may send %d at once and %d a second, "
               "and keep the broker busy for %d ms at once and %d ms a second; try again in a "
               "second",
               USER_REQUESTS_AT_ONCE, USER_REQUESTS_PER_SECOND, USER_WORK_MS_AT_ONCE,
               USER_WORK_MS_PER_SECOND);
}

// Processor time of this thread, which other work of the machine does not change.
static int64_t thread_microseconds(void)
{
    return (int64_t)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) / 1000);
}

void api_work_begin(const struct api_call *call, struct api_work *work)
{
    if (!api_account(call, work->account))
        *work->account = '\0';
    work->began = thread_microseconds();
}

void api_work_end(struct server *server, const struct api_work *work)
{
    if (*work->account)
        user_rates_charge(server->rates, work->account, thread_microseconds() - work->began);
}

// ---- waiting ----

void api_handle(struct api_call *call)
{
    struct store *store = call->server->broker->store;

    call->route->handle(call);
    (void)store_take_read_error(store); // of a call that waits, and reads again later
}

// A call that has waited. Hundreds of one user may be ready at the same moment.
static void run_waiting(struct api_call *call)
{
    struct server *server = call->server;
    struct api_work work;

    api_work_begin(call, &work);
    if (*work.account && !user_rates_may_work(server->rates, work.account))
        api_refuse_fast(call);
    else
        api_handle(call);
    api_work_end(server, &work);
}

static void retry_waiting(struct server *server)
{
    struct api_call *call, *next;

    for (call = TAILQ_FIRST(&server->calls); call; call = next) {
        next = TAILQ_NEXT(call, waiting);
        if (call->ready(call))
            run_waiting(call);
    }
}

static void give_orders(struct server *server)
{
    struct pool *pool = server->broker->pool;
    struct pool_box *box;

    while ((box = TAILQ_FIRST(&pool->orders))) {
        struct api_call *call = box_http(&server->box_states, box->name)->call;
        TAILQ_REMOVE(&pool->orders, box, orders);
        box->has_orders = false;
        if (call)
            api_handle(call);
    }
}

void server_changed(struct server *server)
{
    broker_serve_queue(server->broker);
    give_orders(server);
    retry_waiting(server);
}

static void api_call_on_deadline(evutil_socket_t fd, short events, void *argument)
{
    struct api_call *call = argument;
    struct server *server = call->server;

    (void)fd;
    (void)events;
    call->expired = true;
    run_waiting(call);
    server_changed(server);
}

void api_wait(struct api_call *call, double seconds, bool (*ready)(const struct api_call *call))
{
    struct timeval limit = {.tv_sec = (time_t)seconds,
                            .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};

    if (call->waits)
        return;
    call->timer = evtimer_new(call->server->base, api_call_on_deadline, call);
    if (!call->timer || event_add(call->timer, &limit) < 0) {
        api_fail(call, OUTCOME_NO_MEMORY);
        return;
    }
    call->ready = ready;
    call->waits = true;
    TAILQ_INSERT_TAIL(ready ? &call->server->calls : &call->server->box_calls, call, waiting);
    if (!ready)
        box_http(&call->server->box_states, call->arguments[0])->call = call;
}

bool api_long_poll(struct api_call *call, int64_t seconds,
                   bool (*ready)(const struct api_call *call))
{
    if (seconds <= 0 || call->expired)
        return false;
    api_wait(call, (double)(seconds < LONG_POLL_MAX ? seconds : LONG_POLL_MAX), ready);
    return true;
}

bool api_expired(const struct api_call *call)
{
    return call->expired;
}

const char *api_query(const struct api_call *call, const char *name)
{
    return evhttp_find_header(&call->query, name);
}

int64_t api_query_number(const struct api_call *call, const char *name, int64_t standard)
{
    const char *text = api_query(call, name);
    char *end;
    long long number;

    if (!text)
        return standard;
    number = strtoll(text, &end, 10);
    return *text && !*end ? number : standard;
}

struct pool_box *api_named_box(struct api_call *call)
{
    struct pool_box *box = pool_find_box(call->server->broker->pool, call->arguments[0]);

    if (!box)
        api_refuse(call, OUTCOME_NOT_FOUND, "no box %s", call->arguments[0]);
    return box;
}
