// SPDX-License-Identifier: BSD-3-Clause
// Routes of the API for monitoring: events, metrics, health, status page.
#include <stdlib.h>
#include <string.h>

#include "broker/api/pool_metrics.h"
#include "broker/api/overview.h"
#include "broker/api/routes.h"
#include "broker/status_page.h"
#include "common/base/clock.h"
#include "common/base/scope.h"
#include "version.h"

enum { EVENTS_MAX = 200 }; // in one answer, which others wait for

static bool has_news(const struct api_call *call)
{
    return call->server->broker->last_event > call->mark;
}

// ?lease=ID or ?box=NAME: the last events about it, with the names of users.
static void get_events_about(struct api_call *call, const char *lease, const char *box)
{
    struct broker *broker = call->server->broker;
    json_t *events =
        store_events_about(broker->store, lease ? lease : "", box ? box : "", EVENTS_MAX);

    overview_name_users(call->server->overview, events);
    api_answer(call, 200,
               json_pack("{s:o, s:I}", "events", events, "last", (json_int_t)broker->last_event));
}

// ?after=SEQUENCE (default: only future events), &wait=SECONDS, &limit=N.
static void get_events(struct api_call *call)
{
    struct broker *broker = call->server->broker;
    int64_t after = api_query_number(call, "after", -1);
    int64_t wait = api_query_number(call, "wait", 0);
    int64_t limit = api_query_number(call, "limit", EVENTS_MAX);
    const char *lease = api_query(call, "lease"), *box = api_query(call, "box");
    json_t *events;

    if (lease || box) {
        get_events_about(call, lease, box);
        return;
    }
    if (after < 0) // -N: the last N-1 events and future ones
        after = broker->last_event + 1 + after > 0 ? broker->last_event + 1 + after : 0;
    if (call->waits)
        after = call->mark;
    call->mark = after;
    if (after >= broker->last_event && api_long_poll(call, wait, has_news))
        return;
    events = store_events(broker->store, after,
                          (size_t)(limit > 0 && limit < EVENTS_MAX ? limit : EVENTS_MAX));
    api_answer(call, 200,
               json_pack("{s:o, s:I}", "events", events, "last", (json_int_t)broker->last_event));
}

static const struct usage_way {
    const char *by, *list; // the word of the query, and of the answer
} usage_ways[] = {
    [USAGE_BY_OWNER] = {"user", "users"},
    [USAGE_BY_ACCOUNT] = {"account", "accounts"},
    [USAGE_BY_LEASE] = {"lease", "leases"},
};
enum { USAGE_WAYS = sizeof(usage_ways) / sizeof(usage_ways[0]) };

// USAGE_WAYS: there is none of that name.
static unsigned usage_way(struct api_call *call)
{
    const char *by = api_query(call, "by");
    unsigned way = 0;

    while (by && way < USAGE_WAYS && strcmp(usage_ways[way].by, by))
        way++;
    return way;
}

// ?from=TIME&to=TIME&owner=UID&by=user|account|lease: everybody's for administrators and
// schedulers, else one's own.
static void get_usage(struct api_call *call)
{
    const struct identity *who = &call->who;
    int64_t now = clock_wall_seconds(), owner = api_query_number(call, "owner", -1);
    int64_t from = api_query_number(call, "from", now - 604800);
    int64_t to = api_query_number(call, "to", now + 1); // this second, too
    unsigned way = usage_way(call);

    if (!who->admin && !who->scheduler && owner >= 0 && owner != (int64_t)who->uid) {
        api_refuse(call, OUTCOME_FORBIDDEN, "what others have had is for administrators");
        return;
    }
    if (!who->admin && !who->scheduler)
        owner = (int64_t)who->uid;
    if (from >= to || from < 0) {
        api_refuse(call, OUTCOME_BAD_REQUEST, "\"from\" must be before \"to\"");
        return;
    }
    if (way == USAGE_WAYS) {
        api_refuse(call, OUTCOME_BAD_REQUEST, "\"by\" is user, account or lease");
        return;
    }
    const struct usage_query query = {from, to, now, owner, (enum usage_by)way};
    api_answer(call, 200,
               json_pack("{s:I, s:I, s:o}", "from", (json_int_t)from, "to", (json_int_t)to,
                         usage_ways[way].list, store_usage(call->server->broker->store, &query)));
}

static size_t first_row(const struct api_call *call, const char *name, int64_t standard,
                        int64_t most)
{
    int64_t number = api_query_number(call, name, standard);

    return (size_t)(number < 0 ? 0 : number > most ? most : number);
}

// ?find=TEXT&limit=ROWS&boxes=FIRST&leases=FIRST...&map=1, and &after=EVENT&wait=SECONDS for later
// changes.
static void get_overview(struct api_call *call)
{
    enum { ROWS = 25, ROWS_MAX = 100, FIRST_MAX = 1000000 };
    const char *find = api_query(call, "find");
    int64_t wait = api_query_number(call, "wait", 0);
    struct overview_query query = {
        .find = find ? find : "",
        .limit = first_row(call, "limit", ROWS, ROWS_MAX),
        .boxes = first_row(call, "boxes", 0, FIRST_MAX),
        .leases = first_row(call, "leases", 0, FIRST_MAX),
        .waiting = first_row(call, "waiting", 0, FIRST_MAX),
        .sessions = first_row(call, "sessions", 0, FIRST_MAX),
        .map = api_query_number(call, "map", 0) > 0,
    };

    call->mark = api_query_number(call, "after", -1);
    if (!has_news(call) && api_long_poll(call, wait, has_news))
        return;
    api_answer(call, 200,
               overview_answer(call->server->overview, call->server->broker, call->server->sessions,
                               &query));
}

static void get_health(struct api_call *call)
{
    const struct broker *broker = call->server->broker;
    enum outcome problem = broker_problem(broker);
    const struct outcome_row *state = &outcomes[problem];
    json_t *answer;
    size_t up = 0;

    for (size_t i = 0; i < broker->pool->box_count; i++)
        up += broker->pool->boxes[i]->connected;
    answer =
        json_pack("{s:s, s:s, s:b, s:I, s:I, s:I}", "status",
                  call->server->waiting && !problem ? outcomes[OUTCOME_WAITING].code : state->code,
                  "version", RGPU_VERSION, "tickets", broker->keys.count > 0, "boxes",
                  (json_int_t)broker->pool->box_count, "boxes_connected", (json_int_t)up, "leases",
                  (json_int_t)broker->pool->lease_count);
    if (broker->replication)
        json_object_set_new(answer, "replication", replication_status(broker->replication));
    if (problem)
        json_object_set_new(answer, "error",
                            json_pack("{s:s, s:s}", "code", state->code, "message", state->text));
    api_answer(call, state->status, answer);
}

static void get_whoami(struct api_call *call)
{
    const struct identity *who = &call->who;

    api_answer(call, 200,
               json_pack("{s:s, s:b, s:b, s:b, s:I}", "name", who->name, "admin", who->admin,
                         "scheduler", who->scheduler, "box", who->box, "uid",
                         (json_int_t)(who->has_uid ? (int64_t)who->uid : -1)));
}

static void get_metrics(struct api_call *call)
{
    size_t size;
    SCOPED_FREE char *text = metrics_text(call->server, &size);

    api_answer_text(call, "text/plain; version=0.0.4; charset=utf-8", text ? text : "",
                    text ? size : 0);
}

static void get_page(struct api_call *call)
{
    call->headers = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
                    "script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
                    "frame-ancestors 'none'\r\n";
    api_answer_text(call, "text/html; charset=utf-8", status_page, status_page_size);
}

const struct route watch_routes[] = {
    {EVHTTP_REQ_GET, "/v1/events", ALLOW_READERS, get_events},
    {EVHTTP_REQ_GET, "/v1/overview", ALLOW_READERS, get_overview},
    {EVHTTP_REQ_GET, "/v1/usage", ALLOW_USERS | ALLOW_SCHEDULERS, get_usage},
    {EVHTTP_REQ_GET, "/v1/whoami", ALLOW_ANYBODY, get_whoami},
    {EVHTTP_REQ_GET, "/healthz", ALLOW_ANYBODY | ALLOW_WHILE_WAITING, get_health},
    {EVHTTP_REQ_GET, "/metrics", ALLOW_READERS | ALLOW_METRICS | ALLOW_WHILE_WAITING, get_metrics},
    {EVHTTP_REQ_GET, "/", ALLOW_ANYBODY, get_page}, // what it shows it asks for
    {0, NULL, 0, NULL},
};
