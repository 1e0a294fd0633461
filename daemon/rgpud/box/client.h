// SPDX-License-Identifier: BSD-3-Clause
// Represents a connection from a client until its socket goes to a worker. A connection passes
// through arrival.c (accepts, watches, closes surplus ones), login.c (TLS and HELLO) and
// waiting_clients.c (queue for a worker). Clients that want no session go to figures_query.c or
// rendezvous.c instead. This file has the parts that all of them share.
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
    CLIENT_QUEUED,     // waits for a worker; the client must be silent
    CLIENT_RENDEZVOUS, // in a rendezvous: has published a value, or waits for one
    CLIENT_REFUSED,    // REFUSED is sent; further input is discarded
    CLIENT_GONE,       // handed over or closed; will be freed
};

struct client {
    TAILQ_ENTRY(client) link;
    struct box *box;
    enum client_state state;
    int fd;
    struct tls *tls;                       // NULL: no TLS
    uint8_t origin[ENDPOINT_ORIGIN_BYTES]; // address or user that the connection counts against
    char peer[128];
    struct event *readable;
    struct event *timer;
    uint8_t head[CONTROL_HEADER_BYTES];
    struct control_frame frame;
    size_t received; // bytes of head and body together
    uint16_t version;
    struct control_hello hello;
    struct ticket *ticket; // valid only after the TLS handshake
    int ticket_problem;    // reason that there is no secret for its ticket
    bool resolved;
    struct session_grant grant;
    int64_t queued_ms;
    bool waited; // the client has received its queue position
    size_t discarded;
    uint64_t called_session; // session of the worker that expects this call; 0: not a call
    uint32_t called_number;
    unsigned queries; // queries that it has sent instead of opening a session
    bool query_waits; // the last query waits for fresh figures
    struct control_figures_query query;
    struct control_rendezvous meet; // its part in a rendezvous
    struct limit_holder *counted;   // what limits_give() needs; NULL: it counts as none
    enum limited_resource counted_as;
};

const char *client_state_name(const struct client *client);
// Changes the state of a client. No other function changes it.
void client_move(struct client *client, enum client_state state);
// Returns true if an unauthenticated peer can occupy the client's state. The number of such clients
// is limited.
bool client_counts_as_handshake(const struct client *client);
// Starts the timer, whose meaning depends on the state (arrival.c).
void client_set_timer(struct client *client, uint64_t milliseconds);
// Sends a message. Returns -errno if the peer does not accept it at once; the caller must not wait
// for the peer.
int client_reply(struct client *client, enum control_message_type type, const void *message)
    __attribute__((warn_unused_result));
// Sends the reason and leaves the client some time to read it. Frees the client at once if it
// cannot be sent.
void client_refuse(struct client *client, enum control_refusal code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Discards input of a refused client until it closes. May free the client.
void client_discard(struct client *client);
// Closes the connection and frees the client.
// Counts the client until its end. Returns the level of the limit that refuses it.
enum limit_level client_count(struct client *client, enum limited_resource resource)
    __attribute__((warn_unused_result));
void client_free(struct client *client);

void client_close_all(struct box *box);
// Refuses all clients that are not refused yet.
void client_refuse_all(struct box *box, enum control_refusal code, const char *text);

#endif
