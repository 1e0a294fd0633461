// SPDX-License-Identifier: BSD-3-Clause
// Connections to the broker, each with one request at a time: a head within seconds, then, once the
// server knows who asks and wants it, a body, then an answer. What a stranger can make the broker
// keep is one head; where there are too many connections, strangers make room.
#ifndef RGPU_BROKER_CONNECTION_H
#define RGPU_BROKER_CONNECTION_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "broker/http_head.h"

struct connection;
struct connections;

// What the server makes of requests.
struct connection_handler {
    // A head has come; `head` lives until the answer. The server attaches its request, says when
    // it knows who asks, and reads the body or answers, now or later.
    void (*head)(void *server, struct connection *connection, const struct http_head *head);
    void (*body)(void *request, const char *text, size_t size);
    void (*gone)(void *request); // nobody waits for the answer any more
    void (*late)(void *request); // it is still not known who asks: the server must answer now
};

struct connection_limits {
    size_t all, per_address; // one user counts as one address on the unix socket
};

// Over the network, one user or box has at most this part of all connections.
enum { CONNECTION_OWNER_PART = 4, CONNECTION_OWNER_MAX = 128 };

struct connections *connections_new(struct event_base *base,
                                    const struct connection_handler *handler, void *server,
                                    const struct connection_limits *limits);
// Sends what can be sent at once, and closes all.
void connections_free(struct connections **connections);
size_t connections_count(const struct connections *connections);
uint64_t connections_refused(const struct connections *connections);

// Takes over a connected socket, or closes it where there are too many.
void connection_accept(struct connections *connections, int fd, const struct sockaddr *address);

// The kernel's word on who is at the other end of a unix socket.
bool connection_is_local(const struct connection *connection, uid_t *uid);
// The peer for the log: "10.0.0.7" or "uid=1000".
const char *connection_peer(const struct connection *connection);

// What the handler's functions are given from now on.
void connection_attach(struct connection *connection, void *request);
// It has been found out who asks: OWNER, or NULL for a stranger. One whose owner is known is not dropped to make room.
// Returns false if OWNER is `bounded` and has as many connections as one may have: the answer then ends this one.
bool connection_identified(struct connection *connection, const char *owner, bool bounded);
// Asks for the body; the handler's `body` follows, maybe before this returns.
void connection_read_body(struct connection *connection);

struct connection_answer {
    int status;
    const char *type;    // of the body
    const char *headers; // further ones, each with CR LF at its end, or NULL
    const char *text;
    size_t size;
};

// Ends the request.
void connection_answer(struct connection *connection, const struct connection_answer *answer);

#endif
