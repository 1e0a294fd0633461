// SPDX-License-Identifier: BSD-3-Clause
// Routes requests: authenticates the sender, checks permissions and quotas, and calls the handler.
#include "broker/api/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/http/http_listeners.h"
#include "broker/api/overview.h"
#include "broker/api/routes.h"
#include "broker/http/same_site.h"
#include "broker/api/session_query.h"
#include "broker/leases/tick.h"
#include "broker/pool/pool.h"
#include "broker/http/user_rates.h"
#include "common/base/clock.h"
#include "common/security/api_auth.h"
#include "common/base/log_limit.h"

static struct log_limit refused = LOG_LIMIT(5, 60), foreign = LOG_LIMIT(5, 60);

// ---- routing ----

// Splits the path in place and compares; fills the call's arguments.
static bool route_matches(const char *pattern, struct api_call *call)
{
    size_t count = 0;
    char *at;

    free(call->segments);
    call->segments = pool_copy_text(call->path);
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

// Ends each argument where its segment ends, and undoes %XX.
static void cut_arguments(struct api_call *call)
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

static const struct route *find_route(struct api_call *call)
{
    const struct route *const tables[] = {lease_routes, box_routes, scheduler_routes, watch_routes};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct route *route = tables[i]; route->pattern; route++) {
            if (!route_matches(route->pattern, call))
                continue;
            call->path_known = true;
            if (route->method != call->head->method)
                continue;
            cut_arguments(call);
            return route;
        }
    return NULL;
}

static bool http_is_allowed(const struct api_call *call)
{
    unsigned allow = call->route->allow;
    const struct identity *who = &call->who;

    if (who->metrics)
        return allow & (ALLOW_ANYBODY | ALLOW_METRICS);
    return (allow & ALLOW_ANYBODY) || who->admin ||
           ((allow & ALLOW_READERS) && (who->known || call->server->settings->anonymous_read)) ||
           ((allow & ALLOW_USERS) && who->has_uid) || ((allow & ALLOW_BOXES) && who->box) ||
           ((allow & ALLOW_SCHEDULERS) && who->scheduler);
}

static bool is_too_fast(struct api_call *call)
{
    char account[API_ACCOUNT_MAX];

    return api_account(call, account) && !user_rates_take(call->server->rates, account);
}

// ---- a request's way: head, who asks, body, handler ----

static void identified(void *argument, enum outcome error, const struct identity *who,
                       const char *why)
{
    struct api_call *call = argument;
    struct server *server = call->server;
    bool has_room;

    call->who = *who;
    snprintf(call->actor, sizeof(call->actor), "%s", who->name);
    has_room = connection_identified(call->connection, error || !who->known ? NULL : who->name,
                                     !who->admin && !who->scheduler);
    if (error == OUTCOME_UNAUTHORIZED || error == OUTCOME_RESTARTED) {
        server->unauthorized++;
        log_limited(&refused, LOG_LEVEL_INFO, "request refused: peer=%s target=%s reason=\"%s\"",
                    connection_peer(call->connection), call->head->target, why);
        api_refuse(call, error, "%s", why);
    } else if (error || !has_room) {
        api_fail(call, error ? error : OUTCOME_CROWDED);
    } else if (is_too_fast(call)) {
        api_refuse_fast(call);
    } else if (server->waiting && !(call->route && call->route->allow & ALLOW_WHILE_WAITING)) {
        api_fail(call, broker_problem(server->broker) ?: OUTCOME_WAITING);
    } else if (!call->route) {
        api_fail(call, call->path_known ? OUTCOME_NO_METHOD : OUTCOME_NO_PATH);
    } else if (!http_is_allowed(call)) {
        api_refuse(call, who->known ? OUTCOME_FORBIDDEN : OUTCOME_UNAUTHORIZED,
                   who->known
                       ? "this is for administrators (admins in rgpu-brokerd.conf), not for %s"
                       : "this needs authentication (%s)",
                   who->name);
    } else {
        connection_read_body(call->connection);
    }
    server_changed(server);
}

static void on_head(void *argument, struct connection *connection, const struct http_head *head)
{
    struct server *server = argument;
    struct api_call *call = calloc(1, sizeof(*call));
    const char *query = strchr(head->target, '?');
    struct auth_request asked = {.method = head->method_name,
                                 .target = head->target,
                                 .authorization = head->authorization,
                                 .body_digest = head->body_digest,
                                 .cluster = &server->broker->keys,
                                 .has_body = head->body_size > 0};
    enum outcome site;

    server->requests++;
    if (!call)
        // out of memory, where libevent and jansson abort as well; a restart goes on from the
        // database
        abort();
    connection_attach(connection, call);
    call->server = server;
    call->connection = connection;
    call->arrived = clock_boot_seconds();
    call->head = head;
    call->path =
        strndup(head->target, query ? (size_t)(query - head->target) : strlen(head->target));
    if (!call->path)
        abort();
    TAILQ_INIT(&call->query);
    if (query && evhttp_parse_query_str(query + 1, &call->query) < 0)
        TAILQ_INIT(&call->query);
    call->route = find_route(call);
    asked.local = connection_is_local(connection, &asked.uid);
    site = same_site_check(server->own_names, head, asked.local);
    if (site) {
        log_limited(&foreign, LOG_LEVEL_WARN, "request refused: peer=%s target=%s reason=\"%s\"",
                    connection_peer(connection), head->target, outcomes[site].text);
        api_fail(call, site);
        return;
    }
    auth_check(server->auth, &asked, identified, call, &call->job);
}

// The signature was over the digest that the head gave: the body must be the one.
static bool is_signed_body(const struct api_call *call, const char *text, size_t size)
{
    char digest[API_DIGEST_TEXT];

    if (!call->head->body_digest)
        return call->who.local || !call->head->authorization || size == 0;
    api_digest(text, size, digest);
    return !strcmp(digest, call->head->body_digest);
}

// In memory a value takes up to a hundred times its text, so their number is bounded, too. Real
// requests and reports have more than 16 bytes for each value.
enum { BODY_VALUES_MAX = HTTP_BODY_MAX / 16 };

static bool has_many_values(const char *text, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count > BODY_VALUES_MAX;
}

static void http_take_body(struct api_call *call, const char *text, size_t size)
{
    struct server *server = call->server;

    if (!is_signed_body(call, text, size)) {
        server->unauthorized++;
        api_refuse(call, OUTCOME_UNAUTHORIZED, "the body is not the one that was signed");
        return;
    }
    if (has_many_values(text, size)) {
        api_refuse(call, OUTCOME_BAD_JSON, "the body has more than %d values", BODY_VALUES_MAX);
        return;
    }
    if (size > 0) {
        call->body = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(call->body)) {
            api_fail(call, OUTCOME_BAD_JSON);
            return;
        }
    }
    api_handle(call);
    server_changed(server);
}

static void on_body(void *request, const char *text, size_t size)
{
    struct api_call *call = request;
    struct server *server = call->server;
    struct api_work work;

    api_work_begin(call, &work);
    http_take_body(call, text, size);
    api_work_end(server, &work);
}

// The peer closed the connection during a call: there is no one to answer.
static void on_gone(void *request)
{
    struct api_call *call = request;
    struct pool_box *box = NULL;

    if (call->waits && !call->ready &&
        box_http(&call->server->box_states, call->arguments[0])->call == call)
        box = pool_find_box(call->server->broker->pool, call->arguments[0]);
    if (box)
        box->hung_up = true;
    api_end(call);
}

static void on_late(void *request)
{
    struct api_call *call = request;

    auth_cancel(&call->job);
    api_fail(call, OUTCOME_MUNGE_SILENT);
}

// ---- the server ----

static void on_durable(evutil_socket_t fd, short events, void *argument)
{
    uint64_t count;

    (void)events;
    if (read(fd, &count, sizeof(count)) > 0)
        give_held(argument);
}

static void on_tick(evutil_socket_t fd, short events, void *argument)
{
    struct server *server = argument;

    (void)fd;
    (void)events;
    if (server->waiting)
        return;
    broker_tick(server->broker);
    session_query_tick(server);
    server_changed(server);
}

static const struct connection_handler handler = {
    .head = on_head,
    .body = on_body,
    .gone = on_gone,
    .late = on_late,
};

int server_start(struct server *server)
{
    const struct connection_limits limits = {
        .all = (size_t)server->settings->max_connections,
        .per_address = (size_t)server->settings->max_connections_per_address,
    };
    struct timeval second = {.tv_sec = 1};

    TAILQ_INIT(&server->calls);
    TAILQ_INIT(&server->box_calls);
    TAILQ_INIT(&server->held);
    server->started = clock_boot_seconds();
    server->sessions = json_object();
    server->overview = overview_new();
    server->rates = user_rates_new(USER_REQUESTS_AT_ONCE, USER_REQUESTS_PER_SECOND);
    server->lease_rates = user_rates_new(USER_LEASES_AT_ONCE, USER_LEASES_PER_SECOND);
    if (own_names_new(server->settings->listen, &server->own_names) < 0)
        return -ENOMEM;
    if (session_query_start(server) < 0)
        return -ENOMEM;
    server->connections = connections_new(server->base, &handler, server, &limits);
    server->tick = event_new(server->base, -1, EV_PERSIST, on_tick, server);
    if (!server->connections || !server->tick || !server->rates || !server->lease_rates ||
        !server->overview || event_priority_set(server->tick, PRIORITY_TIME) < 0 ||
        event_add(server->tick, &second) < 0)
        return -ENOMEM;
    if (store_durable_fd(server->broker->store) >= 0) {
        server->durable = event_new(server->base, store_durable_fd(server->broker->store),
                                    EV_READ | EV_PERSIST, on_durable, server);
        if (!server->durable || event_add(server->durable, NULL) < 0)
            return -ENOMEM;
    }
    return http_listeners_open(server->base, server->connections, server->settings,
                               &server->listeners);
}

void server_stop(struct server *server)
{
    struct api_call *call;

    while ((call = TAILQ_FIRST(&server->calls)) || (call = TAILQ_FIRST(&server->box_calls)))
        api_fail(call, OUTCOME_STOPPING);
    if (server->tick)
        event_free(server->tick);
    store_await_durable(server->broker->store);
    give_held(server);
    if (server->durable)
        event_free(server->durable);
    http_listeners_close(&server->listeners);
    connections_free(&server->connections);
    overview_free(&server->overview);
    own_names_free(&server->own_names);
    session_query_stop(server);
    user_rates_free(&server->rates);
    user_rates_free(&server->lease_rates);
    json_decref(server->sessions);
    box_http_free(&server->box_states);
}
