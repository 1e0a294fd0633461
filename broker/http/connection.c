// SPDX-License-Identifier: BSD-3-Clause
// Reads heads and bodies, writes answers, and enforces deadlines and the maximum number of
// connections.
#include "broker/http/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/log_limit.h"

enum {
    HEAD_SECONDS = 10, // for a head, and for knowing who sent it
    BODY_SECONDS = 20,
    WRITE_SECONDS = 30, // without a byte taken
    IDLE_SECONDS = 180, // between requests of authenticated callers
    DRAIN_SECONDS = 2,
};

enum connection_state {
    CONNECTION_HEAD,   // reads a head, or waits for one
    CONNECTION_SERVED, // the server has the request
    CONNECTION_BODY,   // reads the body of a request that the server has
    CONNECTION_ANSWER, // writes an answer
    CONNECTION_DRAIN,  // has answered before it read all: what still comes is thrown away, for an
                       //                            early close could cost the peer the answer
};

enum { PEER_MAX = 64 };

// Counts the connections from one address, or of one user or box.
struct origin {
    char name[CONNECTION_OWNER_MAX];
    size_t count;
};

TAILQ_HEAD(connection_list, connection);

struct connection {
    TAILQ_ENTRY(connection) link; // in strangers or known
    struct connections *all;
    struct origin *origin; // its address; after authentication the user or box
    char peer[PEER_MAX];
    struct bufferevent *channel;
    struct event *deadline;
    enum connection_state state;
    bool trusted, local, closes, body_is_read;
    bool ended; // the peer sends no more
    uid_t uid;
    char *head_text;
    struct http_head head;
    void *request;
};

struct connections {
    struct event_base *base;
    const struct connection_handler *handler;
    void *server;
    struct connection_limits limits;
    struct connection_list strangers, known; // oldest first
    void *origins;
    size_t count;
    uint64_t refused;
    struct log_limit lines;
};

static int compare_origins(const void *a, const void *b)
{
    return strcmp(((const struct origin *)a)->name, ((const struct origin *)b)->name);
}

struct connections *connections_new(struct event_base *base,
                                    const struct connection_handler *handler, void *server,
                                    const struct connection_limits *limits)
{
    struct connections *all = calloc(1, sizeof(*all));

    if (!all)
        return NULL;
    all->base = base;
    all->handler = handler;
    all->server = server;
    all->limits = *limits;
    all->lines = (struct log_limit)LOG_LIMIT(5, 60);
    TAILQ_INIT(&all->strangers);
    TAILQ_INIT(&all->known);
    return all;
}

static void connection_arm(struct connection *connection, int seconds)
{
    struct timeval delay = {.tv_sec = seconds};

    if (seconds)
        event_add(connection->deadline, &delay);
    else
        event_del(connection->deadline);
}

static void leave_origin(struct connections *all, struct origin *origin)
{
    if (--origin->count > 0)
        return;
    tdelete(origin, &all->origins, compare_origins);
    free(origin);
}

static struct origin *join_origin(struct connections *all, const char *name)
{
    struct origin *origin = calloc(1, sizeof(*origin)), **found;

    if (!origin)
        return NULL;
    snprintf(origin->name, sizeof(origin->name), "%s", name);
    found = tsearch(origin, &all->origins, compare_origins);
    if (!found || *found != origin)
        free(origin);
    if (!found)
        return NULL;
    (*found)->count++;
    return *found;
}

static void connection_free(struct connection *connection)
{
    struct connections *all = connection->all;
    int fd = bufferevent_getfd(connection->channel);

    if (connection->request)
        all->handler->gone(connection->request);
    TAILQ_REMOVE(connection->trusted ? &all->known : &all->strangers, connection, link);
    all->count--;
    leave_origin(all, connection->origin);
    event_free(connection->deadline);
    // bufferevent_free closes later, but who comes next may need the descriptor.
    bufferevent_setfd(connection->channel, -1);
    close(fd);
    bufferevent_free(connection->channel);
    free(connection->head_text);
    free(connection);
}

void connections_free(struct connections **pointer)
{
    struct connections *all = *pointer;
    struct connection *connection;

    if (!all)
        return;
    while ((connection = TAILQ_FIRST(&all->known)) || (connection = TAILQ_FIRST(&all->strangers))) {
        evbuffer_unfreeze(bufferevent_get_output(connection->channel), 1);
        evbuffer_write(bufferevent_get_output(connection->channel),
                       bufferevent_getfd(connection->channel));
        connection_free(connection);
    }
    free(all);
    *pointer = NULL;
}

size_t connections_count(const struct connections *connections)
{
    return connections->count;
}

uint64_t connections_refused(const struct connections *connections)
{
    return connections->refused;
}

bool connection_is_local(const struct connection *connection, uid_t *uid)
{
    *uid = connection->uid;
    return connection->local;
}

const char *connection_peer(const struct connection *connection)
{
    return connection->peer;
}

void connection_attach(struct connection *connection, void *request)
{
    connection->request = request;
}

// Counts a connection over the network for OWNER rather than for its address, from which others
// may come as well.
static bool count_for(struct connection *connection, const char *owner, bool bounded)
{
    struct connections *all = connection->all;
    struct origin *origin = connection->local ? NULL : join_origin(all, owner);

    if (!origin)
        return connection->local;
    if (bounded && origin->count > all->limits.all / CONNECTION_OWNER_PART) {
        leave_origin(all, origin);
        all->refused++;
        connection->closes = true;
        return false;
    }
    leave_origin(all, connection->origin);
    connection->origin = origin;
    return true;
}

bool connection_identified(struct connection *connection, const char *owner, bool bounded)
{
    struct connections *all = connection->all;

    connection_arm(connection, 0);
    if (!owner || connection->trusted)
        return true;
    if (!count_for(connection, owner, bounded))
        return false;
    TAILQ_REMOVE(&all->strangers, connection, link);
    TAILQ_INSERT_TAIL(&all->known, connection, link);
    connection->trusted = true;
    return true;
}

// ---- answers ----

static const char *connection_reason_of(int status)
{
    switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    }
    return status < 500 ? "Refused" : "Failed";
}

void connection_answer(struct connection *connection, const struct connection_answer *answer)
{
    struct evbuffer *out = bufferevent_get_output(connection->channel);

    connection->closes |= !connection->head.keep_alive || !connection->body_is_read;
    evbuffer_add_printf(out,
                        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s\r\n",
                        answer->status, connection_reason_of(answer->status), answer->type,
                        answer->size, connection->closes ? "Connection: close\r\n" : "",
                        answer->headers ? answer->headers : "");
    evbuffer_add(out, answer->text, answer->size);
    connection->request = NULL;
    connection->state = CONNECTION_ANSWER;
    connection_arm(connection, 0);
}

// Refuses a connection before there is a request.
static void connection_refuse(struct connection *connection, int status, const char *why)
{
    char text[256];
    int size =
        snprintf(text, sizeof(text), "{\"error\":{\"code\":\"bad-http\",\"message\":\"%s\"}}", why);
    struct connection_answer answer = {
        .status = status, .type = "application/json", .text = text, .size = (size_t)size};

    connection->closes = true;
    connection_answer(connection, &answer);
}

// ---- reading ----

static void connection_read_more(struct connection *connection, size_t size)
{
    bufferevent_setwatermark(connection->channel, EV_READ, 0, size);
}

static void try_head(struct connection *connection)
{
    struct evbuffer *in = bufferevent_get_input(connection->channel);
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    size_t size = end.pos < 0 ? evbuffer_get_length(in) : (size_t)end.pos + 4;
    const char *why;
    int status;

    connection->body_is_read = false;
    connection->head.keep_alive = false;
    if (size > HTTP_HEAD_MAX) {
        connection_refuse(connection, 431, "the head of the request is too large");
        return;
    }
    if (end.pos < 0)
        return;
    free(connection->head_text);
    connection->head_text = malloc(size + 1);
    if (!connection->head_text) {
        connection->closes = true;
        connection_refuse(connection, 503, "out of memory");
        return;
    }
    evbuffer_remove(in, connection->head_text, size);
    connection->head_text[size] = '\0';
    status = http_head_parse(connection->head_text, size, &connection->head, &why);
    if (status) {
        connection_refuse(connection, status, why);
        return;
    }
    connection->body_is_read = connection->head.body_size == 0;
    connection->state = CONNECTION_SERVED;
    connection->all->handler->head(connection->all->server, connection, &connection->head);
}

static void try_body(struct connection *connection)
{
    struct evbuffer *in = bufferevent_get_input(connection->channel);
    size_t size = connection->head.body_size;

    if (evbuffer_get_length(in) < size)
        return;
    connection_arm(connection, 0);
    connection->body_is_read = true;
    connection->state = CONNECTION_SERVED;
    connection->all->handler->body(connection->request,
                                   size ? (const char *)evbuffer_pullup(in, (ev_ssize_t)size) : "",
                                   size);
    evbuffer_drain(in, size);
    connection_read_more(connection, HTTP_HEAD_MAX + 1);
}

void connection_read_body(struct connection *connection)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

    connection->state = CONNECTION_BODY;
    if (connection->head.body_size > HTTP_HEAD_MAX)
        connection_read_more(connection, connection->head.body_size);
    connection_arm(connection, BODY_SECONDS);
    if (connection->head.expects_continue && connection->head.body_size)
        bufferevent_write(connection->channel, go_on, sizeof(go_on) - 1);
    try_body(connection);
}

static void on_read(struct bufferevent *channel, void *argument)
{
    struct connection *connection = argument;
    struct evbuffer *in = bufferevent_get_input(channel);

    switch (connection->state) {
    case CONNECTION_HEAD: try_head(connection); return;
    case CONNECTION_BODY: try_body(connection); return;
    case CONNECTION_DRAIN: evbuffer_drain(in, evbuffer_get_length(in)); return;
    case CONNECTION_SERVED:
    case CONNECTION_ANSWER: return; // the next request, in its turn
    }
}

// An answer is out: the next request, or the end.
static void on_written(struct bufferevent *channel, void *argument)
{
    struct connection *connection = argument;

    if (connection->state != CONNECTION_ANSWER)
        return;
    if (!connection->closes) {
        connection->state = CONNECTION_HEAD;
        connection_arm(connection, connection->trusted ? IDLE_SECONDS : HEAD_SECONDS);
        try_head(connection);
        if (connection->state == CONNECTION_HEAD && connection->ended)
            connection_free(connection);
    } else if (!connection->body_is_read && !connection->ended) {
        connection->state = CONNECTION_DRAIN;
        shutdown(bufferevent_getfd(channel), SHUT_WR);
        on_read(channel, connection);
        connection_arm(connection, DRAIN_SECONDS);
    } else {
        connection_free(connection);
    }
}

// The peer hung up, failed, or takes nothing. An answer that is on its way may still arrive.
static void on_end(struct bufferevent *channel, short what, void *argument)
{
    struct connection *connection = argument;

    (void)channel;
    if ((what & BEV_EVENT_EOF) && connection->state == CONNECTION_ANSWER) {
        connection->ended = true;
        return;
    }
    connection_free(connection);
}

static void connection_on_deadline(evutil_socket_t fd, short events, void *argument)
{
    struct connection *connection = argument;
    const struct connection_handler *handler = connection->all->handler;
    void *request = connection->request;

    (void)fd;
    (void)events;
    switch (connection->state) {
    case CONNECTION_SERVED: handler->late(request); return;
    case CONNECTION_BODY:
        connection->request = NULL;
        handler->gone(request);
        connection_refuse(connection, 408, "the body did not come in time");
        return;
    case CONNECTION_HEAD:
    case CONNECTION_ANSWER:
    case CONNECTION_DRAIN: connection_free(connection); return;
    }
}

// ---- new connections ----

// One address; of IPv6 one network, since a host has a whole one to choose addresses from.
static void name_origin(const struct sockaddr *address, char *name, size_t size)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    struct in6_addr network;

    snprintf(name, size, "?");
    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &four->sin_addr, name, (socklen_t)size);
    } else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], name, (socklen_t)size);
    } else if (address->sa_family == AF_INET6) {
        network = six->sin6_addr;
        memset(&network.s6_addr[8], 0, 8);
        inet_ntop(AF_INET6, &network, name, (socklen_t)size - 3);
        strcat(name, "/64");
    }
}

static struct connection *connection_new(struct connections *all, int fd, struct origin *origin)
{
    const struct timeval timeout = {.tv_sec = WRITE_SECONDS};
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return NULL;
    connection->deadline = evtimer_new(all->base, connection_on_deadline, connection);
    connection->channel = connection->deadline ? bufferevent_socket_new(all->base, fd, 0) : NULL;
    if (!connection->channel) {
        if (connection->deadline)
            event_free(connection->deadline);
        free(connection);
        return NULL;
    }
    connection->all = all;
    connection->origin = origin;
    TAILQ_INSERT_TAIL(&all->strangers, connection, link);
    all->count++;
    bufferevent_setcb(connection->channel, on_read, on_written, on_end, connection);
    bufferevent_set_timeouts(connection->channel, NULL, &timeout);
    connection_read_more(connection, HTTP_HEAD_MAX + 1);
    connection_arm(connection, HEAD_SECONDS);
    return connection;
}

// Sends the reason, unless that would block.
static void turn_away(struct connections *all, int fd, const char *peer, const char *why)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Content-Length: 86\r\nConnection: close\r\n\r\n"
        "{\"error\":{\"code\":\"too-many-connections\",\"message\":\"too many connections; try later\"}}\n";
    ssize_t ignored = send(fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)ignored;
    all->refused++;
    log_limited(&all->lines, LOG_LEVEL_WARN,
                "connection refused: peer=%s reason=\"%s\" connections=%zu", peer, why, all->count);
    close(fd);
}

// Closes the oldest unauthenticated connection; of those from ORIGIN, if that is not NULL.
static bool connection_make_room(struct connections *all, const struct origin *origin,
                                 const char *why)
{
    struct connection *oldest = TAILQ_FIRST(&all->strangers);

    while (oldest && origin && oldest->origin != origin)
        oldest = TAILQ_NEXT(oldest, link);
    if (!oldest)
        return false;
    all->refused++;
    log_limited(&all->lines, LOG_LEVEL_WARN,
                "connection dropped: peer=%s reason=\"%s\" connections=%zu", oldest->peer, why,
                all->count);
    connection_free(oldest);
    return true;
}

void connection_accept(struct connections *all, int fd, const struct sockaddr *address)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof(peer);
    bool local = address->sa_family == AF_UNIX;
    struct connection *connection;
    struct origin *origin;
    char name[PEER_MAX];

    if (local && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        close(fd);
        return;
    }
    if (local)
        snprintf(name, sizeof(name), "uid=%u", peer.uid);
    else
        name_origin(address, name, sizeof(name));
    if (all->count >= all->limits.all && !connection_make_room(all, NULL, "max_connections")) {
        turn_away(all, fd, name, "max_connections");
        return;
    }
    origin = join_origin(all, name);
    if (origin && origin->count > all->limits.per_address && !(local && peer.uid == 0) &&
        !connection_make_room(all, origin, "max_connections_per_address")) {
        leave_origin(all, origin);
        turn_away(all, fd, name, "max_connections_per_address");
        return;
    }
    connection = origin ? connection_new(all, fd, origin) : NULL;
    if (!connection) {
        if (origin)
            leave_origin(all, origin);
        turn_away(all, fd, name, "out of memory");
        return;
    }
    snprintf(connection->peer, sizeof(connection->peer), "%s", name);
    connection->local = local;
    connection->uid = peer.uid;
    bufferevent_enable(connection->channel, EV_READ | EV_WRITE);
}
