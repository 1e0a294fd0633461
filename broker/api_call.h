// SPDX-License-Identifier: BSD-3-Clause
// An API call: one request on its way to an answer. Its handler either answers, or leaves it waiting, and is
// run again after a change until it answers.
#ifndef RGPU_BROKER_API_CALL_H
#define RGPU_BROKER_API_CALL_H

#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>
#include <sys/queue.h>

#include "broker/auth.h"
#include "broker/box_line.h"
#include "broker/connection.h"
#include "broker/core.h"
#include "broker/broker_settings.h"

#define CALL_ARGUMENTS 2
#define CALL_WAIT_MAX 60 // seconds that a long poll may ask for

struct server;

struct api_call {
    TAILQ_ENTRY(api_call)
    waiting; // in server->calls, where `ready` is set, else in server->box_calls
    struct server *server;
    struct connection *connection;
    const struct http_head *head;
    const struct route *route; // NULL: none of this path and method
    bool path_known;
    struct identity who;
    struct auth_job *job;           // munge is asked who this is
    char actor[POOL_NAME_MAX + 32]; // for the event log
    char *path;
    const char *arguments[CALL_ARGUMENTS]; // decoded path segments that stand for `*`
    char *segments;
    struct evkeyvalq query;
    json_t *body;                               // NULL without one
    bool (*ready)(const struct api_call *call); // while it waits: cheap, asked after every change
    int64_t mark;                               // for `ready`
    struct event *timer;
    bool waits, expired;
    bool is_acquire;          // its time goes into the histogram
    const char *headers;      // further ones of the answer, or NULL
    double arrived;           // monotonic seconds
    struct held_answer *held; // then it is in server->held by `waiting`
};

TAILQ_HEAD(call_list, api_call);

// Who may call: bits by role.
enum permission {
    ALLOW_ANYBODY = 1, // even without authentication
    ALLOW_READERS = 2, // anybody who is known; everybody where anonymous_read is set
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
    const struct broker_settings *settings;
    struct auth *auth;
    struct own_names *own_names; // see same_site.h
    struct user_rates *rates, *lease_rates;
    struct connections *connections;
    struct http_listeners *listeners;
    struct event *tick;
    struct call_list calls, box_calls; // that wait
    struct call_list held;             // with answers to be given once a commit is durable
    struct event *durable;
    struct overview *overview;
    void *lines;      // of boxes, see box_line.h
    json_t *sessions; // by box: what it reported last
    struct session_query *query;
    uint64_t requests, unauthorized;
    struct histogram acquires, sync_waits;
    double started;
};

// ---- answering; each ends the call ----

void api_answer(struct api_call *call, int status, json_t *body);
// With a secret in it: as `name` over the unix socket; over TCP as "sealed_`name`", which only who
// signed the request can open. Takes over `body`.
void api_answer_secret(struct api_call *call, int status, json_t *body, const char *name,
                       const char *secret);
void api_answer_text(struct api_call *call, const char *type, const char *text, size_t size);
// Says no, with the status and code of the outcome, and this text.
__attribute__((format(printf, 3, 4))) void api_refuse(struct api_call *call, enum outcome outcome,
                                                      const char *format, ...);
// The same with the outcome's own text.
void api_fail(struct api_call *call, enum outcome outcome);

// Refuses a user whose requests come too fast, or keep the broker busy for too long.
void api_refuse_fast(struct api_call *call);

// Leaves the call waiting for at most `seconds`; its handler runs again once `ready` holds (NULL: a
// box's, which runs again when the box has orders), or when the time is up: then `api_expired`
// holds, and the handler must answer.
void api_wait(struct api_call *call, double seconds, bool (*ready)(const struct api_call *call));
bool api_expired(const struct api_call *call);

// ---- on whose account ----

enum { API_ACCOUNT_MAX = 64 };
// Writes under which name the call counts for the limits of one user. Returns false for boxes,
// schedulers and administrators, who are not held back: the pool depends on them.
bool api_account(const struct api_call *call, char account[API_ACCOUNT_MAX]);

// What is done between the two is charged to who made the call, which may end meanwhile.
struct api_work {
    char account[API_ACCOUNT_MAX]; // empty: nobody's
    int64_t began;
};
void api_work_begin(const struct api_call *call, struct api_work *work);
void api_work_end(struct server *server, const struct api_work *work);

// ---- of the server ----

// Nobody waits for the answer any more.
void api_end(struct api_call *call);
// Gives the answers whose commits have become durable.
void give_held(struct server *server);

// ---- reading ----

const char *api_query(const struct api_call *call, const char *name);
// A number from the query, or `standard`.
int64_t api_query_number(const struct api_call *call, const char *name, int64_t standard);

// After a change: serves the queue and all that wait.
void server_changed(struct server *server);

#endif
