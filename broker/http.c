/* Calls: answering, waiting, and reading what was asked. */
#include "broker/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

static void call_end(struct call *call)
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
    if (call->timer)
        event_free(call->timer);
    evhttp_clear_headers(&call->query);
    json_decref(call->body);
    free(call->path);
    free(call->segments);
    free(call);
}

static void send_answer(struct call *call, int status, const char *type, const char *text,
                        size_t size)
{
    struct evbuffer *buffer = evbuffer_new();
    struct evkeyvalq *headers = evhttp_request_get_output_headers(call->request);

    evhttp_connection_set_closecb(evhttp_request_get_connection(call->request), NULL, NULL);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    if (buffer)
        evbuffer_add(buffer, text, size);
    evhttp_send_reply(call->request, status, NULL, buffer);
    if (buffer)
        evbuffer_free(buffer);
    call_end(call);
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

/* ---- routing ---- */

/* Splits the path in place and compares; fills the call's arguments. */
static bool route_matches(const char *pattern, struct call *call)
{
    size_t count = 0;
    char *at;

    free(call->segments);
    call->segments = strdup(call->path);
    at = call->segments;
    memset(call->arguments, 0, sizeof(call->arguments));
    while (at && *pattern == '/' && *at == '/') {
        size_t wanted = strcspn(pattern + 1, "/"), size = strcspn(at + 1, "/");

        if (wanted == 1 && pattern[1] == '*') {
            if (size == 0 || count == CALL_ARGUMENTS)
                return false;
            call->arguments[count++] = at + 1;
        } else if (wanted != size || strncmp(pattern + 1, at + 1, size)) {
            return false;
        }
        pattern += 1 + wanted;
        at += 1 + size;
    }
    return at && !*pattern && !*at;
}

/* Ends each argument where its segment ends, and undoes %XX. */
static void cut_arguments(struct call *call)
{
    for (int i = 0; i < CALL_ARGUMENTS; i++) {
        char *argument = (char *)call->arguments[i], *decoded;

        if (!argument)
            continue;
        argument[strcspn(argument, "/")] = '\0';
        decoded = evhttp_uridecode(argument, 0, NULL);
        if (decoded && strlen(decoded) <= strlen(argument))
            strcpy(argument, decoded);
        free(decoded);
    }
}

static const struct route *find_route(struct call *call, bool *path_known)
{
    const struct route *const tables[] = {lease_routes, box_routes, watch_routes};
    enum evhttp_cmd_type method = evhttp_request_get_command(call->request);

    *path_known = false;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct route *route = tables[i]; route->pattern; route++) {
            if (!route_matches(route->pattern, call))
                continue;
            *path_known = true;
            if (route->method != method)
                continue;
            cut_arguments(call);
            return route;
        }
    return NULL;
}

static bool is_allowed(const struct call *call)
{
    unsigned allow = call->route->allow;
    const struct identity *who = &call->who;

    return (allow & ALLOW_ANYBODY) || who->admin ||
           ((allow & ALLOW_READERS) && (who->known || call->server->settings->anonymous_read)) ||
           ((allow & ALLOW_USERS) && who->has_uid) || ((allow & ALLOW_BOXES) && who->box) ||
           ((allow & ALLOW_SCHEDULERS) && who->scheduler);
}

static bool read_body(struct call *call)
{
    struct evbuffer *buffer = evhttp_request_get_input_buffer(call->request);
    size_t size = evbuffer_get_length(buffer);

    if (size == 0)
        return true;
    call->body = json_loadb((const char *)evbuffer_pullup(buffer, -1), size,
                            JSON_REJECT_DUPLICATES, NULL);
    return json_is_object(call->body);
}

static void serve(struct call *call)
{
    const char *why;
    bool path_known;
    int error = auth_check(call->server->auth, call->request, &call->who, &why);

    snprintf(call->actor, sizeof(call->actor), "%s", call->who.name);
    if (error == -EACCES || error == -EAGAIN) {
        call->server->unauthorized++;
        call_refuse(call, 401, error == -EAGAIN ? "restarted" : "unauthorized", "%s", why);
        return;
    }
    if (error) {
        call_fail(call, error);
        return;
    }
    call->route = find_route(call, &path_known);
    if (!call->route)
        call_refuse(call, path_known ? 405 : 404, path_known ? "method" : "not-found",
                    path_known ? "this path has no such method" : "there is no such path");
    else if (!is_allowed(call))
        call_refuse(call, call->who.known ? 403 : 401,
                    call->who.known ? "forbidden" : "unauthorized",
                    call->who.known ? "this is not for %s" : "this needs authentication (%s)",
                    call->who.name);
    else if (!read_body(call))
        call_refuse(call, 400, "bad-json", "the body is not a JSON object");
    else
        call->route->handle(call);
}

/* The other side hung up on a call that waits: there is nobody to answer. */
static void caller_gone(struct evhttp_connection *connection, void *context)
{
    struct call *call = context;

    (void)connection;
    call_end(call);
}

static void on_request(struct evhttp_request *request, void *context)
{
    struct server *server = context;
    struct call *call = calloc(1, sizeof(*call));
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *query = evhttp_uri_get_query(uri), *path = evhttp_uri_get_path(uri);

    server->requests++;
    if (!call) {
        evhttp_send_error(request, 503, NULL);
        return;
    }
    call->server = server;
    call->request = request;
    call->path = strdup(path ? path : "/");
    TAILQ_INIT(&call->query);
    if (query && evhttp_parse_query_str(query, &call->query) < 0)
        TAILQ_INIT(&call->query);
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), caller_gone, call);
    serve(call);
    server_changed(server);
}

/* ---- the server ---- */

static void retry_waiting(struct server *server)
{
    struct call *call, *next;

    for (call = TAILQ_FIRST(&server->calls); call; call = next) {
        next = TAILQ_NEXT(call, waiting);
        if (call->ready(call))
            call->route->handle(call);
    }
}

static void give_orders(struct server *server)
{
    struct pool *pool = server->broker->pool;
    struct pool_box *box;

    while ((box = TAILQ_FIRST(&pool->orders))) {
        struct call *call = box->peer;
        TAILQ_REMOVE(&pool->orders, box, orders);
        box->has_orders = false;
        if (call)
            call->route->handle(call);
    }
}

void server_changed(struct server *server)
{
    broker_serve_queue(server->broker);
    give_orders(server);
    retry_waiting(server);
}

static void on_tick(evutil_socket_t fd, short events, void *context)
{
    struct server *server = context;

    (void)fd;
    (void)events;
    broker_tick(server->broker);
    server_changed(server);
}

int server_start(struct server *server)
{
    struct timeval second = {.tv_sec = 1};

    TAILQ_INIT(&server->calls);
    TAILQ_INIT(&server->box_calls);
    server->started = broker_steady();
    server->sessions = json_object();
    server->http = evhttp_new(server->base);
    server->tick = event_new(server->base, -1, EV_PERSIST, on_tick, server);
    if (!server->http || !server->tick || event_add(server->tick, &second) < 0)
        return -ENOMEM;
    evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                                 EVHTTP_REQ_DELETE);
    evhttp_set_max_body_size(server->http, 1 << 20);
    evhttp_set_max_headers_size(server->http, 16384);
    evhttp_set_timeout(server->http, CALL_WAIT_MAX + 60);
    evhttp_set_gencb(server->http, on_request, server);
    return 0;
}

void server_stop(struct server *server)
{
    struct call *call;

    while ((call = TAILQ_FIRST(&server->calls)) || (call = TAILQ_FIRST(&server->box_calls)))
        call_refuse(call, 503, "stopping", "the broker stops");
    if (server->tick)
        event_free(server->tick);
    if (server->http)
        evhttp_free(server->http);
    json_decref(server->sessions);
}
