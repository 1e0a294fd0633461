// SPDX-License-Identifier: BSD-3-Clause
// Continues a link that has lost its connection over new queue pairs. The client makes the
// session's connection again as that of a tcp link (tcp_reconnect.h), and over it the ends agree on
// the pairs.
//
// Rings, staging blocks and all registered memory belong to the protection domain, and stay with
// their keys. A ring keeps records until the peer has read them, so those that did not arrive are
// written again from there. The worker repeats RDMA operations that were not completed.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/rdma/rdma_private.h"
#include "transport/tcp/tcp_reconnect.h"

static struct tcp_stream *rdma_control_of(struct link *link, unsigned number)
{
    return number ? NULL : &rdma_of(link)->control;
}

static unsigned rdma_no_extra(struct link *link)
{
    return 0;
}

static int rdma_take_no_first(struct link *link, unsigned number,
                              const struct control_resume *claim, struct control_stream *stream)
{
    return -EINVAL;
}

// ---- the lost connection ----

// Takes the queue pairs from the link. Nothing is posted to them any more; the end of the link may
// want to disconnect them.
static struct rdma_end take_channels(struct rdma_link *rdma)
{
    struct rdma_end old = {0};

    SCOPED_LOCK(&rdma->pairs_lock);
    for (int channel = 0; channel < RDMA_CHANNELS; channel++) {
        old.ids[channel] = rdma->end.ids[channel];
        old.pairs[channel] = rdma->end.pairs[channel];
        rdma->end.ids[channel] = NULL;
        rdma->end.pairs[channel] = NULL;
    }
    return old;
}

// After this neither side's device touches the other's memory.
static void drop_channels(struct rdma_link *rdma)
{
    SCOPED_LOCK(&rdma->poll_lock);
    SCOPED_LOCK(&rdma->post_lock);
    SCOPED_LOCK(&rdma->bulk_lock);
    struct rdma_end old = take_channels(rdma);
    rdma_end_drop_channels(&old);
    atomic_store(&rdma->disconnected, false);
    rdma_queue_halt(rdma);
    rdma_transfers_halt(rdma);
}

static int rdma_halt(struct link *link, struct tcp_stream *lost, struct control_resume *mine)
{
    struct rdma_link *rdma = rdma_of(link);

    tcp_stream_halt(lost);
    drop_channels(rdma);
    mine->received = atomic_load(&rdma->arrived);
    mine->taken = rdma->taken = atomic_load(&rdma->consumed);
    if (!rdma->end.is_worker)
        return link_failure(link);
    int r = rdma_listen_again(rdma);
    if (r)
        return r == -EPROTO ? -ENETDOWN : r;
    snprintf(mine->address, sizeof(mine->address), "%s", rdma_listener_address(rdma->again));
    mine->port = rdma_listener_port(rdma->again);
    return link_failure(link);
}

// ---- the new one ----

// The identifiers move to the link's event channel, on which threads sleep.
static int adopt_channels(struct rdma_link *rdma, struct rdma_end *fresh)
{
    for (int channel = 0; channel < RDMA_CHANNELS; channel++)
        if (verbs.rdma_migrate_id(fresh->ids[channel], rdma->end.events))
            return -errno;
    SCOPED_LOCK(&rdma->poll_lock);
    SCOPED_LOCK(&rdma->post_lock);
    SCOPED_LOCK(&rdma->bulk_lock);
    {
        SCOPED_LOCK(&rdma->pairs_lock);
        memcpy(rdma->end.ids, fresh->ids, sizeof(fresh->ids));
        memcpy(rdma->end.pairs, fresh->pairs, sizeof(fresh->pairs));
    }
    memset(fresh->ids, 0, sizeof(fresh->ids));
    memset(fresh->pairs, 0, sizeof(fresh->pairs));
    rdma->end.path = fresh->path;
    rdma->end.inline_max = fresh->inline_max;
    return rdma_transfers_repeat(rdma);
}

static int make_channels(struct rdma_link *rdma, const struct control_resume *theirs, int fd,
                         const uint8_t secret[TLS_SECRET_BYTES])
{
    struct rdma_end fresh;
    int r = rdma->end.is_worker
                ? rdma_accept_again(rdma, secret, fd, &fresh)
                : rdma_connect_again(rdma, theirs->address, theirs->port, secret, fd, &fresh);

    if (!r) {
        r = adopt_channels(rdma, &fresh);
        rdma_end_close(&fresh);
    }
    return r == -EPROTO ? -ECONNRESET : r; // the next attempt may succeed
}

static int rdma_resume(struct link *link, struct tcp_stream *lost,
                       const struct control_resume *theirs, struct control_stream *stream,
                       const uint8_t secret[TLS_SECRET_BYTES])
{
    struct rdma_link *rdma = rdma_of(link);
    int r = rdma_queue_rewind(rdma, theirs->received, theirs->taken);

    if (!r)
        r = make_channels(rdma, theirs, stream->fd, secret);
    if (!r)
        r = tcp_stream_continue(lost, stream->fd, NULL, 0);
    if (r)
        return r;
    rdma_post_gathered(rdma);
    rdma_return_credit(rdma);
    rdma_wake_waiters(rdma);
    return 0;
}

static void rdma_changed(struct tcp_stream *stream, bool lost)
{
    if (lost)
        rdma_wake_waiters(rdma_of(stream->link));
}

// ---- beginning and end ----

// Records that the peer's device has answered precede the end of the connection.
static void rdma_goodbye(struct link *link)
{
    const uint32_t words[] = {0, TCP_GOODBYE};

    if (send(rdma_of(link)->watch, words, sizeof(words), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_debug("no goodbye error=\"%s\"", strerror(errno));
}

static const struct reconnect_ops rdma_reconnect_ops = {
    .stream = rdma_control_of,
    .extra = rdma_no_extra,
    .halt = rdma_halt,
    .resume = rdma_resume,
    .take_first = rdma_take_no_first,
    .changed = rdma_changed,
    .goodbye = rdma_goodbye,
};

// A new connection leaves from the same device.
static void note_address(struct rdma_link *rdma)
{
    const struct sockaddr *from = rdma_get_local_addr(rdma->end.ids[RDMA_COMMANDS]);
    bool v4 = from->sa_family == AF_INET;

    memcpy(&rdma->from, from, v4 ? sizeof(rdma->from.v4) : sizeof(rdma->from.v6));
    if (v4)
        rdma->from.v4.sin_port = 0;
    else
        rdma->from.v6.sin6_port = 0;
    rdma->end.options.devices = NULL;
}

int link_rdma_survive(struct link *link, const struct link_reconnect *plan)
{
    struct rdma_link *rdma = rdma_of(link);

    if (!rdma->end.is_worker)
        note_address(rdma);
    tcp_stream_begin(&rdma->control, rdma->watch, NULL);
    int r = tcp_reconnect_new(link, &rdma_reconnect_ops, plan);
    if (!r)
        rdma->control.in_use(&rdma->control);
    return r;
}

void rdma_control_abandon(struct rdma_link *rdma)
{
    if (!rdma->base.reconnect)
        return;
    close(rdma->control.wire.fd);
    rdma->control.wire.fd = -1;
    tcp_reconnect_abandon(rdma->base.reconnect);
}

void rdma_control_free(struct rdma_link *rdma)
{
    tcp_stream_free(&rdma->control);
    tcp_reconnect_free(&rdma->base.reconnect);
}
