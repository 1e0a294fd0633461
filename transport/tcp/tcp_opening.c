// SPDX-License-Identifier: BSD-3-Clause
// An extra connection is a new connection to the box. The supervisor there accepts the offer's
// token as proof and passes the connection to the session's worker. With privacy, each connection
// has TLS keys of its own, derived from a secret of this handshake.
#include "transport/tcp/tcp_opening.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/control_stream.h"
#include "common/net/endpoint.h"
#include "common/net/expected_connection.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

enum { STEP_MS = 5000 };

struct tcp_opening {
    struct link_extra_plan plan;
    struct tcp_extra *extra;
    _Atomic uint64_t moved;
    pthread_mutex_t lock;
    pthread_t thread;
    bool runs;   // under lock
    bool ending; // under lock
    int fd;      // under lock: of the extra connection that is being opened; -1: none
};

// ---- the thread ----

// Notes FD, so that freeing the link meanwhile ends a wait on it.
static bool tcp_opening_note(struct tcp_opening *opening, int fd)
{
    SCOPED_LOCK(&opening->lock);
    opening->fd = fd;
    return !opening->ending;
}

static int tcp_opening_prove(struct tcp_opening *opening, unsigned index,
                             struct control_stream *stream)
{
    const struct link_extra_plan *plan = &opening->plan;
    uint8_t secret[TLS_SECRET_BYTES];
    int64_t deadline = clock_ms() + STEP_MS;
    int err = expected_connection_prove(stream->fd, plan->session, CONTROL_EXTRA_NUMBER + index,
                                        plan->token, deadline, secret);

    if (!err && plan->privacy)
        err = expected_connection_protect(stream->fd, false, secret, deadline, &stream->tls);
    explicit_bzero(secret, sizeof(secret));
    return err;
}

static int tcp_opening_open_one(struct tcp_opening *opening, unsigned index)
{
    struct control_stream stream = {.fd = -1};
    struct endpoint box;
    int err = endpoint_parse(opening->plan.box, 0, &box);

    if (!err)
        stream.fd = endpoint_connect(&box, STEP_MS);
    if (!err && stream.fd < 0)
        err = stream.fd;
    if (!err)
        err = tcp_opening_note(opening, stream.fd) ? tcp_opening_prove(opening, index, &stream)
                                                   : -ECANCELED;
    tcp_opening_note(opening, -1);
    if (!err)
        err = tcp_extra_add(opening->extra, index, stream.fd, stream.tls);
    if (!err)
        return 0;
    tls_discard(&stream.tls);
    if (stream.fd >= 0)
        close(stream.fd);
    return err;
}

// The worker may send parts as soon as it knows all extra connections, so they are ready to receive
// before the announcement.
static int announce(struct tcp_opening *opening)
{
    struct control_extra_connection message = {.count = (uint8_t)opening->plan.count};
    int err = tcp_extra_stand(opening->extra, message.count, false);

    for (unsigned i = 0; i < message.count && !err; i++) {
        const struct tcp_wire *wire = &opening->extra->list[i].stream.wire;
        const struct control_stream stream = {.fd = wire->fd, .tls = wire->tls};
        err = control_send(&stream, CONTROL_EXTRA_CONNECTION, &message, clock_ms() + STEP_MS);
        if (opening->extra->list[i].stream.survives)
            err = 0; // a connection that replaces this one says it, too
    }
    return err ? err : tcp_extra_stand(opening->extra, message.count, true);
}

static void *tcp_opening_open_all(void *argument)
{
    struct tcp_opening *opening = argument;
    int err = 0;

    for (unsigned i = 0; i < opening->plan.count && !err; i++)
        err = tcp_opening_open_one(opening, i);
    if (!err)
        err = announce(opening);
    explicit_bzero(opening->plan.token, sizeof(opening->plan.token));
    if (err)
        log_info("a session over tcp goes on with one connection error=\"%s\"", strerror(-err));
    else
        log_info("a session over tcp has further connections count=%u", opening->plan.count);
    return NULL;
}

// ---- when ----

static void tcp_opening_start(struct tcp_opening *opening)
{
    SCOPED_LOCK(&opening->lock);
    if (opening->ending)
        return;
    opening->runs = quiet_thread_start(&opening->thread, tcp_opening_open_all, opening) == 0;
}

void tcp_opening_moved(struct tcp_opening *opening, size_t length)
{
    uint64_t before = atomic_fetch_add_explicit(&opening->moved, length, memory_order_relaxed);

    if (before < opening->plan.after && before + length >= opening->plan.after)
        tcp_opening_start(opening);
}

int tcp_opening_new(struct tcp_extra *extra, const struct link_extra_plan *plan,
                    struct tcp_opening **out)
{
    struct tcp_opening *opening = calloc(1, sizeof(*opening));

    if (!opening)
        return -ENOMEM;
    opening->plan = *plan;
    opening->extra = extra;
    opening->fd = -1;
    pthread_mutex_init(&opening->lock, NULL);
    *out = opening;
    return 0;
}

void tcp_opening_abandon(struct tcp_opening *opening)
{
    opening->runs = false;
    if (opening->fd >= 0)
        close(opening->fd);
    opening->fd = -1;
}

static bool tcp_opening_stop(struct tcp_opening *opening)
{
    SCOPED_LOCK(&opening->lock);
    opening->ending = true;
    if (opening->fd >= 0)
        shutdown(opening->fd, SHUT_RDWR);
    return opening->runs;
}

void tcp_opening_free(struct tcp_opening **opening)
{
    struct tcp_opening *old = *opening;

    *opening = NULL;
    // In a forked child the lock may be held by a thread that is not there, and nothing runs.
    if (old->runs && tcp_opening_stop(old))
        pthread_join(old->thread, NULL);
    explicit_bzero(&old->plan, sizeof(old->plan));
    free(old);
}
