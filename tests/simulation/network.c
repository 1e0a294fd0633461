// SPDX-License-Identifier: BSD-3-Clause
#include "tests/simulation/network.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "broker/http/connection.h"
#include "broker/http/http_listeners.h"
#include "tests/simulation/broker_process.h"
#include "tests/simulation/exhaustive.h"
#include "tests/simulation/rare.h"
#include "tests/simulation/simulated_box.h"

// A connection carries one request.
struct connection {
    TAILQ_ENTRY(connection) link;
    struct caller *caller;
    unsigned life; // of the caller's process
    char *target, *body, *answer;
    struct http_head head;
    network_answered *answered; // NULL: the caller waits no more
    void *argument;
    struct planned *timeout;
    void *request; // the broker's, until it has answered
    int status;
    unsigned start; // of the broker that answered
    bool listed;
};

TAILQ_HEAD(connection_list, connection);

static struct connection_list open_ones = TAILQ_HEAD_INITIALIZER(open_ones);
static const struct connection_handler *server_handler;
static void *server_argument;
unsigned network_start;

// ---- messages ----

static bool network_is_lost(struct link *link, bool cut)
{
    return cut || dice_chance(&link->dice, link->lost);
}

static int64_t network_delay(struct link *link)
{
    return dice_between(&link->dice, link->least, link->most);
}

static void network_unlist(struct connection *connection)
{
    if (connection->listed)
        TAILQ_REMOVE(&open_ones, connection, link);
    connection->listed = false;
}

// ---- the caller's side ----

struct given {
    network_answered *answered;
    void *argument;
    int status;
    const json_t *answer;
};

static void call_answered(void *argument)
{
    const struct given *given = argument;

    given->answered(given->argument, given->status, given->answer);
}

static void give_answer(struct connection *connection, int status, const char *text)
{
    struct host *host = connection->caller->host;
    struct simulated_box *box = box_with_host(host);
    struct given given = {.answered = connection->answered,
                          .argument = connection->argument,
                          .status = status};
    json_t *answer;

    if (!connection->answered || host->life != connection->life)
        return;
    connection->answered = NULL;
    if (connection->timeout)
        world_cancel(connection->timeout);
    connection->timeout = NULL;
    given.answer = answer = text ? json_loads(text, 0, NULL) : NULL;
    network_start = connection->start;
    if (box && text)
        exhaustive_point(host, "answer", "", text);
    world_host = host;
    if (box)
        box_process_call(box, call_answered, &given);
    else
        call_answered(&given);
    json_decref(answer);
}

static void on_answer(void *argument)
{
    struct connection *connection = argument;

    give_answer(connection, connection->status, connection->answer);
    free(connection->answer);
    connection->answer = NULL;
}

static void on_reset(void *argument)
{
    give_answer(argument, 0, NULL);
}

static void tell_gone(void *argument)
{
    struct connection *connection = argument;
    void *request = connection->request;

    connection->request = NULL;
    network_unlist(connection);
    server_handler->gone(request);
}

static void on_gone(void *argument)
{
    struct connection *connection = argument;

    if (broker_host.held_until > world_now)
        world_after(NULL, broker_host.held_until - world_now, on_gone, connection);
    else if (connection->request && broker_host.up)
        broker_process_call(tell_gone, connection);
}

void network_close(struct connection *connection)
{
    struct link *link = connection->caller->link;

    connection->answered = NULL;
    if (connection->timeout)
        world_cancel(connection->timeout);
    connection->timeout = NULL;
    if (!network_is_lost(link, link->cut_there))
        world_after(NULL, network_delay(link), on_gone, connection);
}

static void on_timeout(void *argument)
{
    struct connection *connection = argument;
    network_answered *answered = connection->answered;

    connection->timeout = NULL;
    network_close(connection);
    if (answered)
        answered(connection->argument, 0, NULL);
}

// ---- requests ----

static void deliver(void *argument)
{
    struct connection *connection = argument;

    connection->listed = true;
    TAILQ_INSERT_TAIL(&open_ones, connection, link);
    exhaustive_point(&broker_host, connection->head.method_name, connection->target,
                     connection->body);
    server_handler->head(server_argument, connection, &connection->head);
}

static void on_request(void *argument)
{
    struct connection *connection = argument;
    struct link *link = connection->caller->link;

    if (broker_host.held_until > world_now) {
        world_after(NULL, broker_host.held_until - world_now, on_request, connection);
        return;
    }
    // A caller that has closed or died before sent the end of the connection after this request.
    if (broker_host.up)
        broker_process_call(deliver, connection);
    else if (!broker_process_is_silent() && !network_is_lost(link, link->cut_back))
        world_after(NULL, network_delay(link), on_reset, connection);
}

struct connection *network_ask(struct caller *caller, const char *method, const char *target,
                               const json_t *body, int64_t timeout, network_answered *answered,
                               void *argument)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    struct link *link = caller->link;
    char *text;

    exhaustive_hold(true);
    text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    exhaustive_hold(false);
    if (!connection)
        abort();
    *connection = (struct connection){.caller = caller,
                                      .life = caller->host->life,
                                      .target = strdup(target),
                                      .body = text,
                                      .answered = answered,
                                      .argument = argument};
    connection->head = (struct http_head){
        .method = !strcmp(method, "GET")      ? EVHTTP_REQ_GET
                  : !strcmp(method, "PUT")    ? EVHTTP_REQ_PUT
                  : !strcmp(method, "DELETE") ? EVHTTP_REQ_DELETE
                                              : EVHTTP_REQ_POST,
        .method_name = method,
        .target = connection->target,
        .host = "broker",
        .content_type = "application/json",
        .body_size = connection->body ? strlen(connection->body) : 0,
    };
    connection->timeout = world_after(caller->host, timeout, on_timeout, connection);
    if (!network_is_lost(link, link->cut_there))
        world_after(NULL, network_delay(link), on_request, connection);
    return connection;
}

// ---- deaths ----

void network_broker_died(bool alive)
{
    struct connection *connection;

    while ((connection = TAILQ_FIRST(&open_ones))) {
        struct link *link = connection->caller->link;
        network_unlist(connection);
        connection->request = NULL;
        if (alive && connection->answered && !network_is_lost(link, link->cut_back))
            world_after(NULL, network_delay(link), on_reset, connection);
    }
}

void network_host_died(const struct host *host)
{
    struct connection *connection;

    TAILQ_FOREACH(connection, &open_ones, link)
        if (connection->caller->host == host && connection->answered) {
            struct link *link = connection->caller->link;
            connection->answered = NULL;
            connection->timeout = NULL;
            if (!network_is_lost(link, link->cut_there))
                world_after(NULL, network_delay(link), on_gone, connection);
        }
}

// ---- the broker's side: broker/http/connection.h ----

struct connections *connections_new(struct event_base *base,
                                    const struct connection_handler *handler, void *server,
                                    const struct connection_limits *limits)
{
    (void)base;
    (void)limits;
    server_handler = handler;
    server_argument = server;
    return (struct connections *)&open_ones;
}

void connections_free(struct connections **connections)
{
    *connections = NULL;
    network_broker_died(true);
}

size_t connections_count(const struct connections *connections)
{
    (void)connections;
    return 0;
}

uint64_t connections_refused(const struct connections *connections)
{
    (void)connections;
    return 0;
}

bool connection_is_local(const struct connection *connection, uid_t *uid)
{
    *uid = connection->caller->who.uid;
    return connection->caller->who.local;
}

const char *connection_peer(const struct connection *connection)
{
    return connection->caller->link->name;
}

void connection_attach(struct connection *connection, void *request)
{
    connection->request = request;
}

bool connection_identified(struct connection *connection, const char *owner, bool bounded)
{
    (void)connection;
    (void)owner;
    (void)bounded;
    return true;
}

void connection_read_body(struct connection *connection)
{
    server_handler->body(connection->request, connection->body ? connection->body : "",
                         connection->head.body_size);
}

void connection_answer(struct connection *connection, const struct connection_answer *answer)
{
    struct link *link = connection->caller->link;

    connection->request = NULL;
    network_unlist(connection);
    if (network_is_lost(link, link->cut_back) || exhaustive_answer_fails()) {
        rare_note(RARE_answer_lost);
        return;
    }
    connection->start = broker_starts;
    connection->status = answer->status;
    connection->answer = strndup(answer->text, answer->size);
    world_after(NULL, network_delay(link), on_answer, connection);
}

// ---- broker/http/auth.h: the caller is who it is ----

void auth_check(struct auth *auth, const struct auth_request *request, auth_done done,
                void *argument, struct auth_job **job)
{
    const struct connection *connection = TAILQ_LAST(&open_ones, connection_list);

    (void)auth;
    (void)request;
    *job = NULL;
    done(argument, OUTCOME_DONE, &connection->caller->who, NULL);
}

void auth_cancel(struct auth_job **job)
{
    *job = NULL;
}

enum outcome auth_seal(const struct identity *who, const char *text, char **sealed)
{
    (void)who;
    *sealed = strdup(text);
    return *sealed ? OUTCOME_DONE : OUTCOME_NO_MEMORY;
}

// ---- broker/http/http_listeners.h ----

int http_listeners_open(struct event_base *base, struct connections *connections,
                        const struct broker_settings *settings, struct http_listeners **listeners)
{
    (void)base;
    (void)connections;
    (void)settings;
    *listeners = NULL;
    return 0;
}

void http_listeners_close(struct http_listeners **listeners)
{
    (void)listeners;
}
