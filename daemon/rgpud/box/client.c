// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/service/helper.h"
#include "common/base/log_limit.h"
#include "daemon/rgpud/box/limits.h"

enum {
    LINGER_MS = 1000, // time that a refused client has to read the reason
    LINGER_BYTES = 256 * 1024,
    REPLY_MAX = CONTROL_OPEN_MAX + CONTROL_HEADER_BYTES,
    REPLY_BUFFER = 4 * REPLY_MAX,
};

// A peer can cause any number of refusals, so these log lines are rate-limited.
static struct log_limit refused_lines = LOG_LIMIT(20, 60);

static const char *const state_names[] = {
    [CLIENT_ARRIVED] = "arrived",
    [CLIENT_PROVING] = "proving",
    [CLIENT_GREETING] = "greeting",
    [CLIENT_QUEUED] = "queued",
    [CLIENT_RENDEZVOUS] = "rendezvous",
    [CLIENT_REFUSED] = "refused",
    [CLIENT_GONE] = "gone",
};

static const int refusal_results[] = {
    [CONTROL_REFUSAL_VERSION] = CONTROL_RESULT_MISMATCH,
    [CONTROL_REFUSAL_AUTHENTICATION] = CONTROL_RESULT_NOT_PERMITTED,
    [CONTROL_REFUSAL_BUSY] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_DRAINING] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_NO_DEVICE] = CONTROL_RESULT_NO_DEVICE,
    [CONTROL_REFUSAL_WORKER] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_PROTOCOL] = CONTROL_RESULT_MISMATCH,
    [CONTROL_REFUSAL_TIMEOUT] = CONTROL_RESULT_NOT_READY,
    [CONTROL_REFUSAL_BUDGET] = CONTROL_RESULT_OUT_OF_MEMORY,
};

const char *client_state_name(const struct client *client)
{
    return state_names[client->state];
}

static bool is_handshake(enum client_state state)
{
    switch (state) {
    case CLIENT_ARRIVED:
    case CLIENT_PROVING:
    case CLIENT_GREETING:
    case CLIENT_REFUSED: return true;
    case CLIENT_QUEUED:
    case CLIENT_RENDEZVOUS:
    case CLIENT_GONE: return false;
    }
    return false;
}

bool client_counts_as_handshake(const struct client *client)
{
    return is_handshake(client->state);
}

void client_move(struct client *client, enum client_state state)
{
    struct box *box = client->box;

    RGPU_ASSERT(box->handshakes || !is_handshake(client->state));
    log_trace("peer=%s state=%s was=%s", client->peer, state_names[state],
              state_names[client->state]);
    box->handshakes -= is_handshake(client->state);
    client->state = state;
    box->handshakes += is_handshake(client->state);
}

void client_set_timer(struct client *client, uint64_t milliseconds)
{
    struct timeval delay = {.tv_sec = (time_t)(milliseconds / 1000),
                            .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)};

    evtimer_add(client->timer, &delay);
}

enum limit_level client_count(struct client *client, enum limited_resource resource)
{
    static uint64_t number; // above those of sessions

    client->counted_as = resource;
    return limits_take(client->box->limits, resource, ++number | UINT64_C(1) << 63,
                       client->ticket ? client->ticket->lease : "", &client->counted);
}

void client_free(struct client *client)
{
    client_move(client, CLIENT_GONE);
    TAILQ_REMOVE(&client->box->clients, client, link);
    if (client->readable)
        event_free(client->readable);
    if (client->timer)
        event_free(client->timer);
    if (client->counted)
        limits_give(client->box->limits, client->counted_as, &client->counted);
    tls_discard(&client->tls);
    close_aside(client->fd);
    control_frame_free(&client->frame);
    free(client->ticket);
    free(client->ticket_text);
    free(client);
}

static ssize_t client_send_part(struct client *client, const uint8_t *data, size_t size)
{
    if (client->tls)
        return tls_send(client->tls, data, size);
    ssize_t sent = send(client->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? -errno : sent;
}

// Replies are few and fit into the buffer of a new socket, which is enlarged for the largest reply.
// A peer that has filled its buffer does not read, and the daemon does not wait for it.
int client_reply(struct client *client, enum control_message_type type, const void *message)
{
    static uint8_t frame[REPLY_MAX];
    const int buffer = REPLY_BUFFER;
    int size = control_encode(type, message, frame, sizeof(frame));

    if (size > REPLY_MAX / 8)
        setsockopt(client->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    for (int done = 0; done < size;) {
        ssize_t sent = client_send_part(client, frame + done, (size_t)(size - done));
        if (sent <= 0)
            return sent ? (int)sent : -EPIPE;
        done += (int)sent;
    }
    return size < 0 ? size : 0;
}

// Sends the reason and then discards input until the peer closes. To close at once with unread
// input would make the kernel drop the reason.
void client_refuse(struct client *client, enum control_refusal code, const char *format, ...)
{
    struct control_refused refused = {.code = code, .result = refusal_results[code]};
    va_list args;

    va_start(args, format);
    vsnprintf(refused.text, sizeof(refused.text), format, args);
    va_end(args);
    for (char *p = refused.text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    log_limited(&refused_lines, LOG_LEVEL_INFO,
                "client refused peer=%s state=%s code=%s reason=\"%s\"", client->peer,
                state_names[client->state], control_refusal_name(code), refused.text);
    // During the TLS handshake only TLS can send an alert, and it has done so.
    if ((client->state != CLIENT_PROVING && client_reply(client, CONTROL_REFUSED, &refused)) ||
        shutdown(client->fd, SHUT_WR)) {
        client_free(client);
        return;
    }
    client_move(client, CLIENT_REFUSED);
    client_set_timer(client, LINGER_MS);
}

void client_discard(struct client *client)
{
    uint8_t waste[4096];
    ssize_t n = recv(client->fd, waste, sizeof(waste), MSG_DONTWAIT);

    if (n > 0)
        client->discarded += (size_t)n;
    if (!n || (n < 0 && errno != EAGAIN && errno != EINTR) || client->discarded > LINGER_BYTES)
        client_free(client);
}

void client_refuse_all(struct box *box, enum control_refusal code, const char *text)
{
    struct client *client, *next;

    for (client = TAILQ_FIRST(&box->clients); client; client = next) {
        next = TAILQ_NEXT(client, link);
        if (client->state != CLIENT_REFUSED)
            client_refuse(client, code, "%s", text);
    }
}

void client_close_all(struct box *box)
{
    while (!TAILQ_EMPTY(&box->clients))
        client_free(TAILQ_FIRST(&box->clients));
}
