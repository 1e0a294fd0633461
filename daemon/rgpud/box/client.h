// SPDX-License-Identifier: BSD-3-Clause
// A client's connection, until its socket is passed to a worker. The connection goes through
// arrival.c (accept, watch, close surplus ones), login.c (TLS and HELLO) and waiting_clients.c
// (queue for a worker). Clients that want no session go to figures_query.c or rendezvous.c. This
// file has what all of them share.
#ifndef RGPU_DAEMON_CLIENT_H
#define RGPU_DAEMON_CLIENT_H

#include "common/net/endpoint.h"
#include "common/security/tls.h"
#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/limits.h"

enum client_state {
    CLIENT_ARRIVED,    // waits for the first byte, which shows if the client has a ticket
    CLIENT_PROVING,    // TLS handshake with the secret of its ticket
    CLIENT_GREETING,   // waits for HELLO
    CLIENT_QUEUED,     // waits for a worker; the client must not send anything
    CLIENT_RENDEZVOUS, // has published a value, or waits for one (rendezvous.h)
    CLIENT_REFUSED,    // REFUSED is sent; further input is discarded
    CLIENT_GONE,       // passed on or closed; about to be freed
};

struct client {
    TAILQ_ENTRY(client) link;
    struct box *box;
    enum client_state state;
    int fd;
    struct tls *tls;                       // NULL: no TLS
    uint8_t origin[ENDPOINT_ORIGIN_BYTES]; // address or user for whose limit the connection counts
    char peer[128];
    struct event *readable;
    struct event *timer;
    uint8_t head[CONTROL_HEADER_BYTES];
    struct control_frame frame;
    size_t received; // bytes of head and body together
    uint16_t version;
    struct control_hello hello;
    struct ticket *ticket; // valid only after the TLS handshake
    char *ticket_text;     // its header.payload
    int ticket_problem;    // error code of the ticket if it has no valid secret, else 0
    bool resolved;
    struct session_grant grant;
    int64_t queued_ms;
    bool waited; // the client has received its queue position
    size_t discarded;
    // connection from another worker, or an extra one: session that expects it; 0: neither
    uint64_t called_session;
    uint32_t called_number;
    unsigned queries; // number of its queries without a session
    bool query_waits; // the last query waits for new figures
    struct control_figures_query query;
    struct control_rendezvous meet; // value that it publishes or waits for
    struct limit_holder *counted;   // counted use of a limit, for limits_give(); NULL: not counted
    enum limited_resource counted_as;
};

const char *client_state_name(const struct client *client);
// Changes the state of a client. No other function changes it.
void client_move(struct client *client, enum client_state state);
// Returns true if unauthenticated peers can be in the client's state. The number of such clients is
// limited.
bool client_counts_as_handshake(const struct client *client);
// Starts the timer. Its meaning depends on the state (arrival.c).
void client_set_timer(struct client *client, uint64_t milliseconds);
// Sends a message without blocking. Returns 0, or -errno if the socket is full or closed.
int client_reply(struct client *client, enum control_message_type type, const void *message)
    __attribute__((warn_unused_result));
// Sends a refusal and leaves the client some time to read it. Frees the client at once if it cannot
// be sent.
void client_refuse(struct client *client, enum control_refusal code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Discards input of a refused client until it closes. May free the client.
void client_discard(struct client *client);
// client_count() counts the client for a limit until the client is freed; it returns the level of
// the limit that refuses it, or LIMIT_OF_NONE. client_free() closes the connection.
enum limit_level client_count(struct client *client, enum limited_resource resource)
    __attribute__((warn_unused_result));
void client_free(struct client *client);

void client_close_all(struct box *box);
// Refuses all clients that have not been refused.
void client_refuse_all(struct box *box, enum control_refusal code, const char *text);

#endif
