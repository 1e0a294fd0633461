// SPDX-License-Identifier: BSD-3-Clause
// An API call is one HTTP request, from its head to its answer. The route's handler either answers
// the call or leaves it waiting. The server runs the handler of a waiting call again after each
// change of the pool. All functions run in the broker's main thread.
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

struct server;

struct api_call {
    TAILQ_ENTRY(api_call)
    waiting; // link in server->calls, in server->box_calls if `ready` is NULL, or in server->held
    struct server *server;
    struct connection *connection;
    const struct http_head *head;
    const struct route *route; // NULL if no route has this path and method
    bool path_known;
    struct identity who;
    struct auth_job *job;           // munge's pending answer about the sender, or NULL
    char actor[POOL_NAME_MAX + 32]; // name of the sender for the event log
    char *path;
    const char *arguments[CALL_ARGUMENTS]; // decoded path segments that stand for `*`
    char *segments;
    struct evkeyvalq query;
    json_t *body; // NULL without a body
    // Returns true if the handler can go on. This function must be cheap: the server calls it after
    // each change.
    bool (*ready)(const struct api_call *call);
    int64_t mark; // number of an event or session query that `ready` waits for
    struct event *timer;
    bool waits, expired;
    bool awaits_grant; // a query that waits for a grant; it must not report one that may be lost
    bool is_acquire;   // true: the call's duration enters the histogram of acquires
    // additional header lines of the answer, each ending with CR LF; or NULL
    const char *headers;
    double arrived;           // time of arrival, seconds of the monotonic clock
    struct held_answer *held; // answer that is sent once its commit is durable, or NULL
};

TAILQ_HEAD(call_list, api_call);

// Permissions of a route: one bit for each role.
enum permission {
    ALLOW_ANYBODY = 1, // even without authentication
    // every authenticated sender; all senders if the setting anonymous_read is set
    ALLOW_READERS = 2,
    ALLOW_USERS = 4,
    ALLOW_BOXES = 8,
    ALLOW_SCHEDULERS = 16,
    ALLOW_ADMINS = 32,
    ALLOW_METRICS = 64,        // senders that may do nothing else
    ALLOW_WHILE_WAITING = 128, // also if another broker leads
};

struct route {
    enum evhttp_cmd_type method;
    const char *pattern; // path; `*` stands for one segment
    unsigned allow;
    void (*handle)(struct api_call *call);
};

struct server {
    struct event_base *base;
    struct broker *broker;
    bool waiting; // the broker has no store, and answers only routes with ALLOW_WHILE_WAITING
    struct broker_settings *settings; // a reload changes those that are reloadable
    struct auth *auth;
    struct own_names *own_names; // see same_site.h
    struct user_rates *rates, *lease_rates;
    struct connections *connections;
    struct http_listeners *listeners;
    struct event *tick;
    struct call_list calls, box_calls; // calls that wait: for `ready`, and of boxes for orders
    // calls whose answer waits until the database commit is durable
    struct call_list held;
    struct event *durable;
    struct overview *overview;
    void *box_states; // struct box_http of each box, see box_http.h
    json_t *sessions; // by box: the sessions of its last report
    struct session_query *query;
    uint64_t requests, unauthorized;
    struct histogram acquires, sync_waits;
    double started;
};

// Handles the call, which may be freed afterwards.
void api_handle(struct api_call *call);

// ---- answers: each function sends the answer and frees the call ----

// Answers with `body` as JSON and takes ownership of its reference.
void api_answer(struct api_call *call, int status, json_t *body);
// Answers with a secret in member `name`. Over TCP the member is named "sealed_`name`" and is
// encrypted, so that only the signer of the request can read it. Takes ownership of `body`.
void api_answer_secret(struct api_call *call, int status, json_t *body, const char *name,
                       const char *secret);
void api_answer_text(struct api_call *call, const char *type, const char *text, size_t size);
// Answers with the HTTP status and code of `outcome` (outcome.h) and the formatted text.
__attribute__((format(printf, 3, 4))) void api_refuse(struct api_call *call, enum outcome outcome,
                                                      const char *format, ...);
// Answers with the HTTP status, code and text of `outcome` (outcome.h).
void api_fail(struct api_call *call, enum outcome outcome);

// Answers 429: the user's quota of requests or processor time is used up (user_rates.h).
void api_refuse_fast(struct api_call *call);

// Leaves the call waiting for at most `seconds`. The handler runs again when `ready` returns true,
// or after the timeout; api_expired then returns true and the handler must answer. With `ready`
// NULL the call of a box waits until there are orders for the box.
void api_wait(struct api_call *call, double seconds, bool (*ready)(const struct api_call *call));
// The same for the `seconds` that the caller asks for, at most a minute. Returns false if the
// handler must answer now: the caller does not want to wait, or the time is over.
bool api_long_poll(struct api_call *call, int64_t seconds,
                   bool (*ready)(const struct api_call *call));
bool api_expired(const struct api_call *call);

// ---- accounting ----

enum { API_ACCOUNT_MAX = 64 };
// Writes the name of the account whose quota the call uses: the user, or the address of an unknown
// sender. Returns false for boxes, schedulers and administrators: they have no quota, because the
// pool depends on them.
bool api_account(const struct api_call *call, char account[API_ACCOUNT_MAX]);

// Measures processor time between api_work_begin and api_work_end and charges it to the sender's
// account, even if the call ends in between.
struct api_work {
    char account[API_ACCOUNT_MAX]; // empty: no account is charged
    int64_t began;
};
void api_work_begin(const struct api_call *call, struct api_work *work);
void api_work_end(struct server *server, const struct api_work *work);

// ---- for the server ----

// Frees a call whose client has disconnected.
void api_end(struct api_call *call);
// Sends the held answers whose commits are durable.
void give_held(struct server *server);

// Returns a parameter of the query string, valid as long as the call; NULL if it is missing.
const char *api_query(const struct api_call *call, const char *name);
// Returns a number of the query string, or `standard` if it is missing or malformed.
int64_t api_query_number(const struct api_call *call, const char *name, int64_t standard);

// Grants GPUs to waiting leases, and runs the handlers of waiting calls that can go on. Must be
// called after every change of the pool.
void server_changed(struct server *server);

// Returns the box that the path names first, or NULL after a refusal.
struct pool_box *api_named_box(struct api_call *call);

#endif
