// SPDX-License-Identifier: BSD-3-Clause
// An API call is one HTTP request until its answer. The handler either answers or leaves the call
// waiting; a waiting call's handler runs again after a change, until it answers.
#ifndef RGPU_BROKER_API_CALL_H
#define RGPU_BROKER_API_CALL_H

#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>
#include <sys/queue.h>

#include "broker/http/auth.h"
#include "broker/api/box_http.h"
#include "broker/http/connection.h"
#include "broker/leases/core.h"
#include "broker/http/broker_settings.h"

#define CALL_ARGUMENTS 2
#define CALL_WAIT_MAX 60 // longest long poll, in seconds

struct server;

struct api_call {
    TAILQ_ENTRY(api_call)
    waiting; // in server->calls if `ready` is set, else in server->box_calls
    struct server *server;
    struct connection *connection;
    const struct http_head *head;
    const struct route *route; // NULL if no route has this path and method
    bool path_known;
    struct identity who;
    struct auth_job *job;           // munge's pending answer about the caller, or NULL
    char actor[POOL_NAME_MAX + 32]; // for the event log
    char *path;
    const char *arguments[CALL_ARGUMENTS]; // decoded path segments that stand for `*`
    char *segments;
    struct evkeyvalq query;
    json_t *body; // NULL without a body
    // true if the handler can go on; cheap, called after every change
    bool (*ready)(const struct api_call *call);
    int64_t mark; // value that `ready` compares with
    struct event *timer;
    bool waits, expired;
    bool is_acquire;          // the time until its answer goes into the histogram
    const char *headers;      // additional headers of the answer, or NULL
    double arrived;           // monotonic seconds
    struct held_answer *held; // if set, the call is in server->held through `waiting`
};

TAILQ_HEAD(call_list, api_call);

// Permissions of a route: one bit for each role.
enum permission {
    ALLOW_ANYBODY = 1, // even without authentication
    ALLOW_READERS = 2, // all authenticated callers; everybody if anonymous_read is set
    ALLOW_USERS = 4,
    ALLOW_BOXES = 8,
    ALLOW_SCHEDULERS = 16,
    ALLOW_ADMINS = 32,
};

struct route {
    enum evhttp_cmd_type method;
    const char *pattern; // `*` stands for one segment
    unsigned allow;
    void (*handle)(struct api_call *call);
};

struct server {
    struct event_base *base;
    struct broker *broker;
    struct broker_settings *settings; // a reload changes those that are reloadable
    struct auth *auth;
    struct own_names *own_names; // see same_site.h
    struct user_rates *rates, *lease_rates;
    struct connections *connections;
    struct http_listeners *listeners;
    struct event *tick;
    struct call_list calls, box_calls; // waiting calls
    struct call_list held;             // calls with an answer that is sent once a commit is durable
    struct event *durable;
    struct overview *overview;
    void *box_states;   // struct box_http of each box, see box_http.h
    json_t *sessions;   // by box: the sessions of its last report
    json_t *schedulers; // by prefix of keys: its scheduler, and the end of its claim
    struct session_query *query;
    uint64_t requests, unauthorized;
    struct histogram acquires, sync_waits;
    double started;
};

// ---- answers; each ends the call ----

void api_answer(struct api_call *call, int status, json_t *body);
// Answers with a secret: as member `name` over the unix socket; over TCP as "sealed_`name`", which
// only the signer of the request can open. Takes over `body`.
void api_answer_secret(struct api_call *call, int status, json_t *body, const char *name,
                       const char *secret);
void api_answer_text(struct api_call *call, const char *type, const char *text, size_t size);
// Refuses the call with the status and code of the outcome and this text.
__attribute__((format(printf, 3, 4))) void api_refuse(struct api_call *call, enum outcome outcome,
                                                      const char *format, ...);
// Refuses the call with the outcome's own text.
void api_fail(struct api_call *call, enum outcome outcome);

// Refuses a user who sends requests too fast or uses too much of the broker's processor time.
void api_refuse_fast(struct api_call *call);

// Leaves the call waiting for at most `seconds`. The handler runs again when `ready` returns true
// (NULL: when the box has orders), or when the time is up. Then `api_expired` returns true, and the
// handler must answer.
void api_wait(struct api_call *call, double seconds, bool (*ready)(const struct api_call *call));
bool api_expired(const struct api_call *call);

// ---- accounting ----

enum { API_ACCOUNT_MAX = 64 };
// Writes the name under which the call counts towards the limits of one user. Returns false for
// boxes, schedulers and administrators: they have no limits, because the pool depends on them.
bool api_account(const struct api_call *call, char account[API_ACCOUNT_MAX]);

// Work between api_work_begin and api_work_end is charged to the caller, even if the call ends
// meanwhile.
struct api_work {
    char account[API_ACCOUNT_MAX]; // empty: charged to no account
    int64_t began;
};
void api_work_begin(const struct api_call *call, struct api_work *work);
void api_work_end(struct server *server, const struct api_work *work);

// ---- for the server ----

// Ends a call whose client is gone.
void api_end(struct api_call *call);
// Sends the held answers whose commits have become durable.
void give_held(struct server *server);

// ---- arguments ----

const char *api_query(const struct api_call *call, const char *name);
// Returns a number from the query, or `standard`.
int64_t api_query_number(const struct api_call *call, const char *name, int64_t standard);

// Serves the queue and all waiting calls after a change.
void server_changed(struct server *server);

#endif
