// SPDX-License-Identifier: BSD-3-Clause
// A connection from a client, until its socket is handed to a worker. Who connects passes through arrival.c
// (accepted, watched, closed where there are too many), login.c (TLS and HELLO) and waiting_clients.c (the queue for a
// worker), or to who answers those that want no session: look.c and meetings.c; here is what these have in common.
#ifndef RGPU_DAEMON_CLIENT_H
#define RGPU_DAEMON_CLIENT_H

#include "common/endpoint.h"
#include "common/tls.h"
#include "daemon/box.h"

enum client_state {
    CLIENT_ARRIVED,  // its first byte is awaited, which shows whether it has a ticket
    CLIENT_PROVING,  // TLS is about to stand, by the secret of its ticket
    CLIENT_GREETING, // HELLO is awaited
    CLIENT_QUEUED,   // a worker is awaited; the client must be silent
    CLIENT_MEETING, // it has said what other processes of its lease are to hear, or waits to hear such
    CLIENT_REFUSED, // REFUSED is sent; what still comes is discarded
    CLIENT_GONE,    // handed over or closed; about to be freed
};

struct client {
    TAILQ_ENTRY(client) link;
    struct box *box;
    enum client_state state;
    int fd;
    struct tls *tls;                       // NULL: plain
    uint8_t origin[ENDPOINT_ORIGIN_BYTES]; // whom the connection is counted to
    char peer[128];
    struct event *readable;
    struct event *timer;
    uint8_t head[CONTROL_HEADER_BYTES];
    struct control_frame frame;
    size_t received; // of head and body together
    uint16_t version;
    struct control_hello hello;
    struct ticket *ticket; // believed once TLS stands
    int ticket_problem;    // why there is no secret for what it shows
    bool resolved;
    struct session_grant grant;
    int64_t queued_ms;
    bool waited; // it has been told its place in the queue
    size_t discarded;
    uint64_t called_session; // of the worker that expects it, where another box calls; 0: none does
    uint32_t called_number;
    unsigned looks;  // questions that it has asked instead of opening a session
    bool look_waits; // the last one, until the GPUs' library has been asked
    struct control_look look;
    struct control_meet meet; // in a meeting
};

const char *client_state_name(const struct client *client);
void client_move(struct client *client, enum client_state state);
// Whether an unauthenticated peer can hold on to the client's state; the number of such clients is limited.
bool client_counts_as_handshake(const struct client *client);
void client_set_timer(struct client *client, uint64_t milliseconds);
// -errno: the peer does not take it, and is not worth waiting for.
int client_reply(struct client *client, enum control_message_type type, const void *message)
    __attribute__((warn_unused_result));
// Sends the reason, which the client then has a moment to read; it may be freed at once where it cannot.
void client_refuse(struct client *client, enum control_refusal code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Reads what a refused client still says, until it closes; it may be freed.
void client_discard(struct client *client);
void client_free(struct client *client);

void client_close_all(struct box *box);
void client_refuse_all(struct box *box, enum control_refusal code, const char *text);

#endif
