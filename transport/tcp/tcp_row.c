// SPDX-License-Identifier: BSD-3-Clause
// The transport tcp: uses the connection over which the session was opened.
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "common/net/endpoint.h"
#include "common/base/log.h"
#include "common/net/session_client.h"
#include "common/security/tls.h"
#include "transport/link/transport.h"

enum {
    EXTRA_AFTER = 64 << 20, // bytes of payloads; the handshakes take as long as copying a few MiB
};

// The port is the number of further connections that may follow, by the supervisor's token.
static bool offer_tcp(const struct transport_worker *worker, struct control_offer *offer)
{
    offer->port = worker->grant->extra_connections;
    memcpy(offer->token, worker->grant->extra_token, sizeof(offer->token));
    return true;
}

static int survive_in_worker(const struct transport_worker *worker, struct link *link)
{
    struct link_reconnect plan = {.timeout_ms = worker->grant->reconnect_ms};

    return link_tcp_survive(link, &plan);
}

// If the data need no protection, TLS ends, and plain records follow on the same connection.
static int accept_tcp(struct transport_worker *worker, const struct control_offer *offer,
                      int64_t deadline, struct link **out, char *text, size_t room)
{
    struct control_stream *stream = worker->stream;

    if (stream->tls && worker->grant->protection != CONTROL_PROTECTION_PRIVACY) {
        int err = control_end_tls(stream, deadline);
        if (err)
            return err;
    }
    bool in_kernel = stream->tls && tls_in_kernel(stream->tls);
    int err = link_tcp_open(stream->fd, stream->tls, &worker->options, out);
    if (!err)
        link_tcp_offer(*out, offer->port);
    if (!err && worker->grant->reconnect_ms)
        err = survive_in_worker(worker, *out);
    if (!err && stream->tls)
        log_info("data are encrypted by=%s", in_kernel ? "kernel" : "worker");
    if (!err)
        stream->tls = NULL;
    return err;
}

static const char *obstacle_of_tcp(const struct transport_client *client, char *reason, size_t room)
{
    return NULL;
}

// Each extra connection has a thread at either end. To leave processors to the program, extra
// connections use at most half of those that it may use.
static unsigned extra_wanted(const struct transport_client *client)
{
    unsigned offered = client->offer ? client->offer->port : 0, wanted = client->connections;
    cpu_set_t set;

    if (!wanted)
        wanted = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set) / 2;
    wanted = wanted ? wanted - 1 : 0;
    return wanted < offered ? wanted : offered;
}

// A failure here is no reason against the session.
static void plan_extra(const struct transport_client *client, struct link *link, int fd)
{
    struct link_extra_plan plan = {
        .session = client->session,
        .count = extra_wanted(client),
        .privacy = client->protection == CONTROL_PROTECTION_PRIVACY,
        .after = EXTRA_AFTER,
    };

    if (!plan.count)
        return;
    memcpy(plan.token, client->offer->token, sizeof(plan.token));
    endpoint_peer_text(fd, plan.box, sizeof(plan.box));
    if (link_tcp_plan(link, &plan))
        log_info("no further connections for a session over tcp");
    explicit_bzero(&plan, sizeof(plan));
}

static int connect_tcp(struct transport_client *client, struct link **out, char *text, size_t room)
{
    struct tls *tls = NULL;
    int fd = client->stream->fd;
    int err = session_stream_release(client->stream, client->protection, &tls);

    if (!err)
        err = link_tcp_open(client->stream->fd, tls, &client->options, out);
    if (!err && client->resume) {
        tls = NULL;
        client->stream->fd = -1;
        err = transport_survive(client, *out, link_tcp_survive);
    }
    if (err) {
        link_free(out);
        tls_discard(&tls);
        snprintf(text, room, "cannot use the connection to box %s: %s", client->box,
                 strerror(-err));
        return err;
    }
    plan_extra(client, *out, fd);
    client->stream->fd = -1;
    return 0;
}

const struct transport transport_tcp = {
    .name = "tcp",
    .words = "tcp",
    .failure = TRANSPORT_GIVE_UP,
    .listen = transport_listen_nowhere,
    .prepare = transport_prepare_nothing,
    .offer = offer_tcp,
    .accept = accept_tcp,
    .withdraw = transport_withdraw_nothing,
    .introduce = transport_introduce_nothing,
    .obstacle = obstacle_of_tcp,
    .connect = connect_tcp,
    .peer_way = 0, // workers always have this one
    .offer_peer = transport_offer_no_peer,
    .accept_peer = transport_accept_no_peer,
    .withdraw_peer = transport_withdraw_nothing,
    .connect_peer = transport_connect_no_peer,
};
