// SPDX-License-Identifier: BSD-3-Clause
// Connections to the broker. A connection carries one request at a time: the head, then a body if
// the server requests it, then the answer. Until the sender is identified, the broker reads no more
// than one head, and each step has a deadline of seconds. If there are too many connections, those
// of unknown senders are closed first. For one thread only.
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

// Callbacks of the server. `request` is the pointer given to connection_attach.
struct connection_handler {
    // Receives a complete head, which stays valid until the answer. The server must call
    // connection_attach, then connection_identified once it knows the sender, then
    // connection_read_body or connection_answer. All but the first may happen later.
    void (*head)(void *server, struct connection *connection, const struct http_head *head);
    void (*body)(void *request, const char *text, size_t size);
    void (*gone)(void *request); // the client has disconnected before the answer
    // the sender was not identified in time: the server must answer now
    void (*late)(void *request);
};

struct connection_limits {
    size_t all, per_address; // maximum counts; on the unix socket each user counts as one address
};

// Over TCP, one user or box may have at most 1/CONNECTION_OWNER_PART of all connections.
enum { CONNECTION_OWNER_PART = 4, CONNECTION_OWNER_MAX = 128 };

// HANDLER must stay valid; SERVER is the first argument of its `head`. Returns NULL if memory is
// exhausted.
struct connections *connections_new(struct event_base *base,
                                    const struct connection_handler *handler, void *server,
                                    const struct connection_limits *limits);
// Closes and frees all connections. Pending output is sent as far as it does not block.
void connections_free(struct connections **connections);
size_t connections_count(const struct connections *connections);
uint64_t connections_refused(const struct connections *connections);

// Takes ownership of the connected socket FD. Closes it if there are too many connections.
void connection_accept(struct connections *connections, int fd, const struct sockaddr *address);

// Returns true if the connection came over the unix socket; then *UID is the peer's user id.
bool connection_is_local(const struct connection *connection, uid_t *uid);
// Returns the peer for log messages, such as "10.0.0.7" or "uid=1000".
const char *connection_peer(const struct connection *connection);

// Sets the argument of the callbacks for the current request.
void connection_attach(struct connection *connection, void *request);
// Sets the sender of the current request: OWNER is its name, or NULL if it is unknown. A connection
// with an owner is not closed in favour of others. Returns false if OWNER has too many connections
// and BOUNDED is set; the connection then closes after the answer.
bool connection_identified(struct connection *connection, const char *owner, bool bounded);
// Starts to read the body. The callback `body` may run before this function returns.
void connection_read_body(struct connection *connection);

struct connection_answer {
    int status;
    const char *type;    // content type of `text`
    const char *headers; // additional header lines, each ending with CR LF; or NULL
    const char *text;
    size_t size;
};

// Sends the answer, which is copied, and ends the request.
void connection_answer(struct connection *connection, const struct connection_answer *answer);

#endif
