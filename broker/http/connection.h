// SPDX-License-Identifier: BSD-3-Clause
// Manages connections to the broker. Each carries one request at a time: a head within seconds;
// then, if the server has identified the sender and wants it, a body; then an answer. An unknown
// sender can make the broker store one head only. If there are too many connections, those of
// unknown senders are closed first.
#ifndef RGPU_BROKER_CONNECTION_H
#define RGPU_BROKER_CONNECTION_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "broker/http/http_head.h"

struct connection;
struct connections;

// Callbacks of the server.
struct connection_handler {
    // A head is complete; `head` lives until the answer. The server attaches its request, reports
    // when it has identified the sender, and reads the body or answers, immediately or later.
    void (*head)(void *server, struct connection *connection, const struct http_head *head);
    void (*body)(void *request, const char *text, size_t size);
    void (*gone)(void *request); // the client no longer waits for the answer
    void (*late)(void *request); // the sender is still unknown: the server must answer immediately
};

struct connection_limits {
    size_t all, per_address; // each user counts as one address on the unix socket
};

// Over the network, one user or box may have at most 1/CONNECTION_OWNER_PART of all connections.
enum { CONNECTION_OWNER_PART = 4, CONNECTION_OWNER_MAX = 128 };

struct connections *connections_new(struct event_base *base,
                                    const struct connection_handler *handler, void *server,
                                    const struct connection_limits *limits);
// Sends as much pending output as the sockets accept without blocking, and closes all connections.
void connections_free(struct connections **connections);
size_t connections_count(const struct connections *connections);
uint64_t connections_refused(const struct connections *connections);

// Takes over a connected socket; closes it if there are too many connections.
void connection_accept(struct connections *connections, int fd, const struct sockaddr *address);

// Returns true for the unix socket, with the peer's user as the kernel reports it.
bool connection_is_local(const struct connection *connection, uid_t *uid);
// The peer for the log: "10.0.0.7" or "uid=1000".
const char *connection_peer(const struct connection *connection);

// Sets the argument of the handler's functions for this request.
void connection_attach(struct connection *connection, void *request);
// Records the identified sender: OWNER, or NULL if unknown. A connection with an owner is not
// closed to make room. Returns false if OWNER is `bounded` and has its maximum of connections; the
// answer then closes this one.
bool connection_identified(struct connection *connection, const char *owner, bool bounded);
// Requests the body; the handler's `body` follows, maybe before this returns.
void connection_read_body(struct connection *connection);

struct connection_answer {
    int status;
    const char *type;    // of the body
    const char *headers; // additional headers, each with CR LF at its end, or NULL
    const char *text;
    size_t size;
};

// Answers the request and ends it.
void connection_answer(struct connection *connection, const struct connection_answer *answer);

#endif
