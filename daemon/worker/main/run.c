// SPDX-License-Identifier: BSD-3-Clause
// Worker and client authenticate each other and agree on a transport. Afterwards the main thread
// watches the connections.
#include "daemon/worker/main/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/net/control_stream.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/security/tls.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/intake/dispatch.h"
#include "daemon/worker/copy/carriers.h"
#include "daemon/worker/main/orders.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/main/welcome.h"

enum {
    RENDEZVOUS_TIMEOUT_MS = 30000, // for the client to prove itself
    REPORT_INTERVAL_MS = 1000,
    IDLE_INTERVAL_MS = 5000, // after a second in which nothing changed
    LAST_WORD_MS = 20,
};

// ---- the client ----

static int run_give_secret(void *argument, const void *identity, size_t size,
                           uint8_t key[TLS_SECRET_BYTES])
{
    const struct control_grant *grant = argument;

    memcpy(key, grant->secret, TLS_SECRET_BYTES);
    return 0;
}

// The client and the supervisor have proved themselves to each other; the secret that they share
// since then is what the supervisor passed on.
static int meet_client(struct control_grant *grant, struct control_stream *stream)
{
    if (grant->protection == CONTROL_PROTECTION_NONE)
        return 0;
    int err = tls_server(stream->fd, run_give_secret, grant,
                         grant->protection == CONTROL_PROTECTION_PRIVACY, &stream->tls);
    if (!err)
        err = control_secure(stream, clock_ms() + RENDEZVOUS_TIMEOUT_MS);
    explicit_bzero(grant->secret, sizeof(grant->secret));
    return err;
}

// ---- running ----

// The connection has ended. The thread that reads the link may know better why. If another
// connection may follow, that thread waits for it, unless it is busy for longer than that.
static void client_hung_up(int64_t *since_ms)
{
    uint32_t reconnect_ms = link_reconnect_timeout(session.link);

    if (!reconnect_ms)
        poll(NULL, 0, LAST_WORD_MS);
    else if (!*since_ms)
        *since_ms = clock_ms();
    if (clock_ms() - *since_ms >= reconnect_ms)
        session_end(CONTROL_END_REASON_CLIENT_LEFT, "the client is gone");
}

static bool hangs_up(int client_fd)
{
    struct pollfd now = {.fd = client_fd, .events = POLLRDHUP};

    return poll(&now, 1, 0) > 0;
}

static void run_watch(int client_fd)
{
    int interval = REPORT_INTERVAL_MS;
    int64_t reported_ms = clock_ms(), hung_up_ms = 0;

    for (;;) {
        struct pollfd fds[] = {{.fd = session.control, .events = POLLIN},
                               {.fd = hung_up_ms ? -1 : client_fd, .events = POLLRDHUP}};
        int n = poll(fds, 2, hung_up_ms ? REPORT_INTERVAL_MS : interval);
        if (n < 0 && errno != EINTR)
            session_end(CONTROL_END_REASON_INTERNAL, "poll: %s", strerror(errno));
        link_reconnect_check(session.link);
        if (!hangs_up(client_fd))
            hung_up_ms = 0;
        else
            client_hung_up(&hung_up_ms);
        if (hung_up_ms)
            interval = REPORT_INTERVAL_MS;
        if (n > 0 && fds[0].revents)
            orders_take();
        // A message of the supervisor, often an answer, is no reason for more than one report in a
        // while, and nor is a lost connection.
        if (n > 0 && clock_ms() - reported_ms < REPORT_INTERVAL_MS)
            continue;
        reported_ms = clock_ms();
        interval = session_report() ? REPORT_INTERVAL_MS : IDLE_INTERVAL_MS;
    }
}

void run_session(int control_fd, struct control_grant *grant, int client_fd)
{
    struct control_stream stream = {.fd = client_fd};
    char name[32];

    session.control = control_fd;
    snprintf(name, sizeof(name), "session=%llu", (unsigned long long)grant->session);
    log_set_thread_context(name);
    log_info("serving client=\"%s\" devices=%u protection=%s", grant->client, grant->devices_count,
             control_protection_name(grant->protection));
    int err = session_take_grant(grant);
    if (err)
        session_end(CONTROL_END_REASON_INTERNAL, "the grant cannot be served: %s", strerror(-err));
    err = meet_client(grant, &stream);
    if (!err)
        err = welcome_client(session.control, grant, &stream);
    if (err == -ECONNRESET || err == -EPIPE)
        session_end(CONTROL_END_REASON_CLIENT_LEFT, "the client left during the handshake");
    if (err)
        session_end(CONTROL_END_REASON_CLIENT_ERROR, "handshake failed: %s",
                    stream.tls && *tls_problem(stream.tls) ? tls_problem(stream.tls)
                                                           : strerror(-err));
    tls_discard(&stream.tls);
    log_info("transport=%s reason=\"%s\"", session.transport, session.transport_reason);
    if (carrier_start(link_memory(session.link)) != 0)
        session_end(CONTROL_END_REASON_INTERNAL, "no threads for transfers");
    session_report();
    dispatch_start();
    run_watch(client_fd);
    __builtin_unreachable();
}
