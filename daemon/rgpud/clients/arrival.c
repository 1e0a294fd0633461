// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/clients/arrival.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "daemon/rgpud/clients/login.h"
#include "daemon/rgpud/clients/rendezvous.h"
#include "daemon/rgpud/clients/waiting_clients.h"

enum {
    TELL_INTERVAL_MS = 1000,
    HEARD_FIRST = 8,
};

static void client_readable(evutil_socket_t fd, short events, void *argument)
{
    struct client *client = argument;

    switch (client->state) {
    case CLIENT_ARRIVED: login_begin(client); return;
    case CLIENT_PROVING: login_prove(client); return;
    case CLIENT_GREETING: login_hear(client); return;
    case CLIENT_QUEUED: waiting_watch(client); return;
    case CLIENT_RENDEZVOUS: rendezvous_watch(client); return;
    case CLIENT_REFUSED: client_discard(client); return;
    case CLIENT_GONE: return;
    }
}

static void timer_passed(evutil_socket_t fd, short events, void *argument)
{
    struct client *client = argument;

    switch (client->state) {
    case CLIENT_ARRIVED:
    case CLIENT_PROVING:
    case CLIENT_GREETING:
        client_refuse(client, CONTROL_REFUSAL_TIMEOUT,
                      "the handshake took longer than handshake_timeout of the box");
        return;
    case CLIENT_QUEUED: waiting_tell(client); return;
    case CLIENT_RENDEZVOUS: rendezvous_review(client); return;
    case CLIENT_REFUSED: client_free(client); return;
    case CLIENT_GONE: return;
    }
}

// ---- limits ----

// Returns the oldest client in the handshake, or the oldest of ORIGIN if that is not NULL.
static struct client *oldest_handshake(struct box *box, const uint8_t *origin)
{
    struct client *client;

    TAILQ_FOREACH(client, &box->clients, link)
        if (client_counts_as_handshake(client) &&
            (!origin || !memcmp(origin, client->origin, sizeof(client->origin))))
            return client;
    return NULL;
}

static unsigned count_handshakes(struct box *box, const uint8_t *origin)
{
    struct client *client;
    unsigned count = 0;

    TAILQ_FOREACH(client, &box->clients, link)
        count += client_counts_as_handshake(client) &&
                 !memcmp(origin, client->origin, sizeof(client->origin));
    return count;
}

static void close_for_others(struct client *client)
{
    struct box *box = client->box;
    static int64_t reported_ms;
    static unsigned closed;

    closed++;
    if (!reported_ms || clock_ms() - reported_ms >= TELL_INTERVAL_MS) {
        log_warn("too many connections in the handshake closed=%u now=%u last_peer=%s", closed,
                 box->handshakes, client->peer);
        reported_ms = clock_ms();
        closed = 0;
    }
    client_free(client);
}

static bool arrival_has_spoken(const struct client *client)
{
    uint8_t byte;

    return client->state != CLIENT_REFUSED &&
           recv(client->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

// Closes the oldest connection. Old connections may have sent data that is still unread. That data
// is read first, so that a slow daemon does not close clients that have kept their time.
static void arrival_give_way(struct box *box, const uint8_t *origin)
{
    struct client *client = oldest_handshake(box, origin);

    for (int i = 0; i < HEARD_FIRST && client && arrival_has_spoken(client); i++) {
        client_readable(client->fd, EV_READ, client);
        client = oldest_handshake(box, origin);
    }
    if (client)
        close_for_others(client);
}

// Closes the oldest connection if there are too many. OpenSSH's MaxStartups refuses random
// newcomers instead, and many silent connections then keep most others out. An honest client
// finishes the handshake in milliseconds. Only a whole crowd that arrives within that time can push
// it out.
static void thin_out(struct box *box, const uint8_t origin[ENDPOINT_ORIGIN_BYTES])
{
    if (count_handshakes(box, origin) > (unsigned)box->settings.max_handshakes_per_address)
        arrival_give_way(box, origin);
    else if (box->handshakes > (unsigned)box->settings.max_handshakes)
        arrival_give_way(box, NULL);
}

// ---- new connections ----

static void tune(int fd)
{
    int on = 1;

    // Unix sockets do not have these options and do not need them.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void arrival_accept(struct box *box, int fd)
{
    uint8_t origin[ENDPOINT_ORIGIN_BYTES];
    struct client *client = calloc(1, sizeof(*client));

    if (!client) {
        close(fd);
        return;
    }
    tune(fd);
    client->box = box;
    client->fd = fd;
    client->state = CLIENT_GONE;
    endpoint_peer_text(fd, client->peer, sizeof(client->peer));
    endpoint_origin(fd, client->origin);
    TAILQ_INSERT_TAIL(&box->clients, client, link);
    client->readable = event_new(box->base, fd, EV_READ | EV_PERSIST, client_readable, client);
    client->timer = evtimer_new(box->base, timer_passed, client);
    if (!client->readable || !client->timer || event_add(client->readable, NULL)) {
        client_free(client);
        return;
    }
    client_move(client, CLIENT_ARRIVED);
    client_set_timer(client, box->settings.handshake_timeout / 1000);
    // thin_out() may free the client, so its origin is copied.
    memcpy(origin, client->origin, sizeof(origin));
    thin_out(box, origin);
}
