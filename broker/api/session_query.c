// SPDX-License-Identifier: BSD-3-Clause
// Boxes report their sessions only with each heartbeat. A query makes them report at once: the
// broker answers the call in which the box waits for orders, and the box sends a report. For 5,000
// boxes this costs a third of a second of processor time. Therefore a query starts at most once a
// second for all callers, goes to small groups of boxes with other requests served in between, and
// leaves out boxes without leases and sessions.
#include "broker/api/session_query.h"

#include <errno.h>
#include <event2/event.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "broker/api/api_call.h"
#include "broker/api/box_http.h"
#include "common/base/clock.h"

struct session_query {
    int64_t number;   // of the last query
    int64_t wanted;   // the last that a caller waits for: `number`, or the one after it
    int64_t answered; // the last that all boxes have answered, or had time to
    double began;     // the last query, in monotonic seconds
    size_t next;      // index of the first box that the last query has not reached
    size_t open;      // boxes whose answers are missing
    struct event *turn;
    char *text; // the answer that all callers of one query get
    size_t text_size;
    int64_t text_of; // its query
    double text_made;
};

enum { GROUP = 64, GROUP_PAUSE_US = 2000, ANSWER_SECONDS = 5 };

#define PAUSE_SECONDS 1.0

static bool may_run_sessions(const struct server *server, const struct pool_box *box)
{
    if (json_array_size(json_object_get(server->sessions, box->name)) > 0)
        return true;
    for (uint32_t i = 0; i < box->gpu_count; i++)
        if (box->gpus[i]->holders > 0)
            return true;
    return false;
}

static bool session_query_is_open(const struct session_query *query, const struct box_http *state)
{
    return state->wanted == query->number && state->query < state->wanted;
}

static void schedule(struct server *server)
{
    struct session_query *query = server->query;
    struct timeval delay = {.tv_usec = GROUP_PAUSE_US};
    double left = query->began + PAUSE_SECONDS - clock_boot_seconds();

    if (query->next >= server->broker->pool->box_count) {
        if (query->wanted <= query->number)
            return;
        delay.tv_usec = left > 0 ? (suseconds_t)(left * 999999) : 0;
    }
    event_add(query->turn, &delay);
}

static void session_query_begin(struct server *server)
{
    const struct pool *pool = server->broker->pool;
    struct session_query *query = server->query;

    query->number = query->wanted;
    query->began = clock_boot_seconds();
    query->next = query->open = 0;
    for (size_t i = 0; i < pool->box_count; i++)
        if (pool->boxes[i]->connected && may_run_sessions(server, pool->boxes[i])) {
            box_http(&server->box_states, pool->boxes[i]->name)->wanted = query->number;
            query->open++;
        }
    if (query->open == 0)
        query->answered = query->number;
}

// Answers the calls of the next boxes, so that they report again.
static void ask_group(struct server *server)
{
    const struct pool *pool = server->broker->pool;
    struct session_query *query = server->query;

    for (size_t i = 0; i < GROUP && query->next < pool->box_count; i++, query->next++) {
        struct box_http *state = box_http(&server->box_states, pool->boxes[query->next]->name);
        if (session_query_is_open(query, state) && state->call)
            api_handle(state->call);
    }
}

static void on_turn(evutil_socket_t fd, short events, void *argument)
{
    struct server *server = argument;
    struct session_query *query = server->query;

    (void)fd;
    (void)events;
    if (query->next >= server->broker->pool->box_count && query->wanted > query->number)
        session_query_begin(server);
    ask_group(server);
    schedule(server);
    server_changed(server);
}

// Returns the number of the first query that begins from now on.
static int64_t session_query_join(struct server *server)
{
    struct session_query *query = server->query;

    if (query->wanted > query->number)
        return query->wanted;
    query->wanted = query->number + 1;
    if (clock_boot_seconds() - query->began >= PAUSE_SECONDS) {
        session_query_begin(server);
        ask_group(server);
    }
    schedule(server);
    return query->wanted;
}

void session_query_reported(struct server *server, struct box_http *state)
{
    struct session_query *query = server->query;
    bool was_open = session_query_is_open(query, state);

    state->query = state->reported; // the report was made after that answer
    if (was_open && !session_query_is_open(query, state) && query->open > 0 && --query->open == 0)
        query->answered = query->number;
}

// Counts again, as boxes may have gone away meanwhile.
void session_query_tick(struct server *server)
{
    const struct pool *pool = server->broker->pool;
    struct session_query *query = server->query;

    if (query->answered == query->number)
        return;
    query->open = 0;
    for (size_t i = 0; i < pool->box_count; i++)
        query->open +=
            pool->boxes[i]->connected &&
            session_query_is_open(query, box_http(&server->box_states, pool->boxes[i]->name));
    if (query->open == 0 || clock_boot_seconds() - query->began >= ANSWER_SECONDS)
        query->answered = query->number;
}

// ---- the answer ----

static bool is_answered(const struct api_call *call)
{
    return call->server->query->answered >= call->mark;
}

static void add_sessions(struct server *server, const char *name, const json_t *sessions,
                         json_t *list)
{
    const struct pool *pool = server->broker->pool;
    const struct pool_box *box = pool_find_box(pool, name);
    const struct box_http *state = box_http(&server->box_states, name);
    bool stale = !box || !box->connected || state->query < state->wanted;
    json_t *session;
    size_t i;

    json_array_foreach(sessions, i, session) {
        const char *id = json_string_value(json_object_get(session, "lease"));
        const struct pool_lease *lease = id ? pool_find_lease(pool, id) : NULL;
        json_t *copy = json_copy(session);
        if (lease)
            json_object_set_new(copy, "owner", json_integer(lease->owner));
        json_object_set_new(copy, "box", json_string(name));
        json_object_set_new(copy, "stale", json_boolean(stale));
        json_array_append_new(list, copy);
    }
}

static void make_text(struct server *server)
{
    struct session_query *query = server->query;
    json_t *list = json_array(), *answer, *sessions;
    const char *box;

    json_object_foreach(server->sessions, box, sessions)
        add_sessions(server, box, sessions, list);
    answer = json_pack("{s:o}", "sessions", list);
    free(query->text);
    query->text = json_dumps(answer, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (!query->text)
        abort(); // out of memory, where libevent and jansson abort as well
    query->text_size = strlen(query->text);
    query->text_of = query->answered;
    query->text_made = clock_boot_seconds();
    json_decref(answer);
}

void session_query_list(struct api_call *call)
{
    struct session_query *query = call->server->query;
    bool asked = api_query_number(call, "ask", 1) != 0, fits;

    if (asked && !call->mark)
        call->mark = session_query_join(call->server);
    if (asked && !is_answered(call) && !api_expired(call)) {
        api_wait(call, ANSWER_SECONDS + 2, is_answered);
        return;
    }
    fits = asked ? query->text_of >= call->mark
                 : clock_boot_seconds() - query->text_made < PAUSE_SECONDS;
    if (!query->text || !fits)
        make_text(call->server);
    api_answer_text(call, "application/json", query->text, query->text_size);
}

int session_query_start(struct server *server)
{
    server->query = calloc(1, sizeof(*server->query));
    if (!server->query)
        return -ENOMEM;
    server->query->began = -PAUSE_SECONDS;
    server->query->turn = evtimer_new(server->base, on_turn, server);
    return server->query->turn ? 0 : -ENOMEM;
}

void session_query_stop(struct server *server)
{
    if (!server->query)
        return;
    if (server->query->turn)
        event_free(server->query->turn);
    free(server->query->text);
    free(server->query);
    server->query = NULL;
}
