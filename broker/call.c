// SPDX-License-Identifier: BSD-3-Clause
/* Calls: answering, now or when it is durable, waiting, and reading what was asked. */
#include "broker/http.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "common/api_auth.h"

/* An answer that must not be given before what it tells is durable. */
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

static void stop_waiting(struct call *call)
{
    struct pool_box *box;

    if (call->waits && call->ready)
        TAILQ_REMOVE(&call->server->calls, call, waiting);
    if (call->waits && !call->ready) {
        TAILQ_REMOVE(&call->server->box_calls, call, waiting);
        box = pool_find_box(call->server->broker->pool, call->arguments[0]);
        if (box && box->peer == call)
            box->peer = NULL;
    }
    call->waits = false;
    if (call->timer)
        event_free(call->timer);
    call->timer = NULL;
}

void call_end(struct call *call)
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

static void hold(struct call *call, const struct connection_answer *answer, uint64_t commit)
{
    struct held_answer *held = calloc(1, sizeof(*held));
    char *text = malloc(answer->size + 1);

    if (!held || !text)
        abort(); /* what the call has done is in the database: a restart goes on from there */
    stop_waiting(call);
    *held = (struct held_answer){.commit = commit, .since = broker_steady(), .status = answer->status, .type = answer->type,
                                 .headers = answer->headers, .text = text,
                                 .size = answer->size};
    memcpy(text, answer->text, answer->size);
    call->held = held;
    TAILQ_INSERT_TAIL(&call->server->held, call, waiting);
}

/* With the proof that it is our answer to this request, where the asker can check one. */
static void deliver(struct call *call, const struct connection_answer *answer)
{
    struct connection_answer proven = *answer;
    char proof[API_DIGEST_TEXT], *headers = NULL;

    if (call->who.has_secret) {
        api_prove(call->who.secret, call->who.nonce, answer->status, answer->text, answer->size,
                  proof);
        if (asprintf(&headers, "%s" API_PROOF_HEADER ": Rgpu %s\r\n",
                     answer->headers ? answer->headers : "", proof) < 0)
            abort(); /* as everywhere in libevent and jansson */
        proven.headers = headers;
    }
    if (call->is_acquire)
        histogram_add(&call->server->acquires, broker_steady() - call->arrived);
    connection_answer(call->connection, &proven);
    free(headers);
    call_end(call);
}

/* Who only looks does not wait for the disk; who changes something does, also where an earlier call
 * changed it, since a repeated request is an answer about what the first one did. */
static void send_answer(struct call *call, int status, const char *type, const char *text,
                        size_t size)
{
    struct connection_answer answer = {.status = status, .type = type, .headers = call->headers,
                                       .text = text, .size = size};
    struct store *store = call->server->broker->store;
    uint64_t commit = store_committed(store);

    if (call->head->method != EVHTTP_REQ_GET && status < 300 && store_durable(store) < commit) {
        hold(call, &answer, commit);
        return;
    }
    deliver(call, &answer);
}

void give_held(struct server *server)
{
    uint64_t durable = store_durable(server->broker->store);
    struct call *call;

    while ((call = TAILQ_FIRST(&server->held)) && call->held->commit <= durable) {
        struct connection_answer answer = {.status = call->held->status, .type = call->held->type,
                                           .headers = call->held->headers,
                                           .text = call->held->text, .size = call->held->size};

        histogram_add(&server->sync_waits, broker_steady() - call->held->since);
        deliver(call, &answer);
    }
}

void call_answer_text(struct call *call, const char *type, const char *text, size_t size)
{
    send_answer(call, 200, type, text, size);
}

void call_answer(struct call *call, int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(body);
    send_answer(call, text ? status : 500, "application/json", text ? text : "{}",
                text ? strlen(text) : 2);
    free(text);
}

void call_refuse(struct call *call, int status, const char *code, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    call_answer(call, status,
                json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message));
}

/* ---- secrets in answers ---- */

void call_answer_secret(struct call *call, int status, json_t *body, const char *name,
                        const char *secret)
{
    char *sealed = NULL, member[64];
    int error = 0;

    if (call->who.local) {
        json_object_set_new(body, name, json_string(secret));
        call_answer(call, status, body);
        return;
    }
    snprintf(member, sizeof(member), "sealed_%s", name);
    error = auth_seal(&call->who, secret, &sealed);
    if (!error && json_object_set_new(body, member, json_string(sealed)))
        error = -ENOMEM;
    free(sealed);
    if (!error) {
        call_answer(call, status, body);
        return;
    }
    json_decref(body);
    call_fail(call, error);
}

void call_fail(struct call *call, int error)
{
    switch (error) {
    case -ENOSPC:
        call_refuse(call, 503, "disk-full", "the broker's disk is full; nothing was changed");
        return;
    case -EBUSY:
        call_refuse(call, 503, "database-busy",
                    "another process holds the broker's database; nothing was changed");
        return;
    case -EUCLEAN:
        call_refuse(call, 503, "database-damaged",
                    "the broker's database is damaged; it must be restored from a copy");
        return;
    case -ESTALE:
        call_refuse(call, 410, "ended", "the lease has ended");
        return;
    case -ENOKEY:
        call_refuse(call, 503, "no-key", "the broker has no cluster key and issues no tickets");
        return;
    case -ERANGE:
        call_refuse(call, 400, "bad-request",
                    "\"lifetime\" of a ticket is from 1 to %lld seconds here (max_ticket_lifetime)",
                    (long long)call->server->broker->limits.max_ticket_seconds);
        return;
    case -ETIME:
        call_refuse(call, 503, "munge-silent", "munged does not answer on the broker's host");
        return;
    case -ETXTBSY:
        call_refuse(call, 409, "in-use", "a lease holds it; drain it first and wait");
        return;
    case -EISCONN:
        call_refuse(call, 409, "connected", "the box is there and answers for itself");
        return;
    }
    call_refuse(call, 503, "failed", "the change could not be made: %s", strerror(-error));
}

static void on_deadline(evutil_socket_t fd, short events, void *context)
{
    struct call *call = context;
    struct server *server = call->server;

    (void)fd;
    (void)events;
    call->expired = true;
    call->route->handle(call);
    server_changed(server);
}

bool call_wait(struct call *call, double seconds, bool (*ready)(const struct call *call))
{
    struct timeval limit = {.tv_sec = (time_t)seconds,
                            .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};

    if (call->waits)
        return true;
    call->timer = evtimer_new(call->server->base, on_deadline, call);
    if (!call->timer || event_add(call->timer, &limit) < 0) {
        call_refuse(call, 503, "failed", "out of memory");
        return false;
    }
    call->ready = ready;
    call->waits = true;
    if (ready)
        TAILQ_INSERT_TAIL(&call->server->calls, call, waiting);
    else
        TAILQ_INSERT_TAIL(&call->server->box_calls, call, waiting);
    return true;
}

bool call_expired(const struct call *call)
{
    return call->expired;
}

const char *call_query(const struct call *call, const char *name)
{
    return evhttp_find_header(&call->query, name);
}

int64_t call_query_number(const struct call *call, const char *name, int64_t standard)
{
    const char *text = call_query(call, name);
    char *end;
    long long number;

    if (!text)
        return standard;
    number = strtoll(text, &end, 10);
    return *text && !*end ? number : standard;
}
