// SPDX-License-Identifier: BSD-3-Clause
// The client makes one worker expect a connection, passes its answer to the other one, and waits
// until both ends are connected. The link is used only then, so after a failure the path through
// the client remains.
#include "daemon/worker/peer/peer_direct.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/expected_connection.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/base/wait.h"
#include "transport/link/link.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/peer/peer_frames.h"
#include "daemon/worker/peer/peer_job.h"
#include "daemon/worker/peer/peer_route.h"
#include "daemon/worker/peer/peer_ways.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum { RENDEZVOUS_MS = 10000 };

// ---- frames ----

struct reader {
    struct peer_link *link;
    struct link *from;
};

static void peer_direct_lose(struct peer_link *link, const char *why)
{
    SCOPED_LOCK(&peer_mover.lock);
    if (link->lost == CUDA_SUCCESS)
        log_warn("the link with box=\"%s\" is down error=\"%s\"", link->name, why);
    peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

static void peer_direct_leave(struct peer_link *link)
{
    SCOPED_LOCK(&peer_mover.lock);
    peer_link_leave(link);
}

static int peer_direct_take_record(struct peer_link *link, struct link *from, void *record,
                                   int size)
{
    struct wire_peer_frame *frame = record;

    if (size != sizeof(*frame))
        return -EPROTO;
    frame->peer = link->number; // each end has its own
    return peer_take_frame(frame, from);
}

static void *read_frames(void *argument)
{
    struct reader reader = *(struct reader *)argument;
    _Alignas(16) uint8_t record[sizeof(struct wire_peer_frame)];
    int err = 0;

    free(argument);
    while (err >= 0) {
        int size = link_receive(reader.from, record, sizeof(record), -1);
        err = size > 0 ? peer_direct_take_record(reader.link, reader.from, record, size) : size;
    }
    peer_direct_lose(reader.link,
                     *link_error(reader.from) ? link_error(reader.from) : strerror(-err));
    peer_direct_leave(reader.link);
    return NULL;
}

static int peer_direct_start_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    int err = pthread_create(&thread, NULL, run, argument);

    if (!err)
        pthread_detach(thread);
    return -err;
}

// ---- the connection becomes a link ----

// Frees the remains if MADE is a nearer link; a tcp link has taken them.
static int stand(struct peer_link *link, struct link *made, const struct control_stream *base,
                 bool called, const char *reason)
{
    struct reader *reader = malloc(sizeof(*reader));
    int err = reader ? peer_link_carry(link, made, called) : -ENOMEM;

    SCOPED_LOCK(&peer_mover.lock);
    if (!err)
        err = link->state == PEER_RENDEZVOUS && link->lost == CUDA_SUCCESS ? 0 : -ECANCELED;
    if (!err) {
        *reader = (struct reader){link, made};
        err = peer_direct_start_thread(read_frames, reader);
    }
    if (err) {
        free(reader);
        return err;
    }
    link->direct = made;
    link->base = *base;
    link->users++;
    snprintf(link->reason, sizeof(link->reason), "%s", reason);
    peer_link_stands(link, PEER_DIRECT);
    return 0;
}

// Without a nearer way the connection itself becomes the link.
static int make_link(struct peer_link *link, struct control_stream *stream, bool called,
                     struct link **out, char *reason, size_t room)
{
    const struct peer_ways ways = {
        .stream = stream,
        .privacy = link->privacy,
        .allowed = link->ways,
        .options = {.spin_us = setup_spin_us(),
                    .block_size = WIRE_BLOCK_SIZE,
                    .block_count = 2 * PEER_IN_BLOCKS,
                    .throttle = session.throttle},
        .deadline = clock_ms() + RENDEZVOUS_MS,
    };
    int err = 0;

    if (link->ways)
        err = called ? peer_ways_called(&ways, out, reason, room)
                     : peer_ways_caller(&ways, out, reason, room);
    if (err || *out)
        return err;
    err = link_tcp_open(stream->fd, stream->tls, &ways.options, out);
    if (!err)
        *stream = (struct control_stream){.fd = -1};
    return err;
}

// FD is taken.
static int peer_direct_meet(struct peer_link *link, int fd, bool called,
                            uint8_t secret[TLS_SECRET_BYTES])
{
    struct control_stream stream = {.fd = fd};
    struct link *made = NULL;
    char reason[sizeof(link->reason)] = "";
    int err = link->privacy ? expected_connection_protect(fd, called, secret,
                                                          clock_ms() + RENDEZVOUS_MS, &stream.tls)
                            : 0;

    explicit_bzero(secret, TLS_SECRET_BYTES);
    if (!err)
        err = make_link(link, &stream, called, &made, reason, sizeof(reason));
    if (!err)
        err = stand(link, made, &stream, called, reason);
    if (!err)
        return 0;
    link_free(&made);
    tls_discard(&stream.tls);
    if (stream.fd >= 0)
        close(stream.fd);
    return err;
}

struct rendezvous {
    struct peer_link *link;
    int fd;
    uint8_t secret[TLS_SECRET_BYTES];
};

static void *meet_caller(void *argument)
{
    struct rendezvous *rendezvous = argument;
    int err = peer_direct_meet(rendezvous->link, rendezvous->fd, true, rendezvous->secret);

    if (err)
        log_warn("the link with box=\"%s\" does not come about error=\"%s\"",
                 rendezvous->link->name, strerror(-err));
    peer_direct_leave(rendezvous->link);
    free(rendezvous);
    return NULL;
}

static struct peer_link *find_expecting(uint32_t number)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_links;
    while (link && !(link->state == PEER_RENDEZVOUS && link->expected == number))
        link = link->next;
    if (link)
        link->users++;
    return link;
}

void peer_direct_came(const struct control_peer_came *came, int fd)
{
    struct rendezvous *rendezvous = malloc(sizeof(*rendezvous));
    struct peer_link *link = find_expecting(came->number);

    if (rendezvous && link) {
        *rendezvous = (struct rendezvous){.link = link, .fd = fd};
        memcpy(rendezvous->secret, came->secret, sizeof(rendezvous->secret));
        if (!peer_direct_start_thread(meet_caller, rendezvous))
            return;
    }
    if (link)
        peer_direct_leave(link);
    free(rendezvous);
    close(fd);
}

// ---- requests ----

// Returns a link that carries no copies yet; the caller is a user of it.
static struct peer_link *peer_direct_begin(struct serve *serve, uint32_t number, bool privacy,
                                           uint32_t ways, const void *name, size_t size)
{
    SCOPED_LOCK(&peer_mover.lock);
    if (peer_mover_start())
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    else
        serve_fail(serve, peer_link_add(number, name, size));
    struct peer_link *link = serve_failed(serve) ? NULL : peer_link_find(number);
    if (!link)
        return NULL;
    link->privacy = privacy || session.privacy;
    link->ways = ways;
    link->users++;
    return link;
}

static void peer_direct_expect(struct serve *serve, struct peer_link *link)
{
    struct wire_peer_offer offer = {.session = session.id};
    struct control_peer_expected answer;

    control_boot_id(offer.boot_id);
    if (getrandom(offer.token, sizeof(offer.token), 0) != (ssize_t)sizeof(offer.token)) {
        serve_fail(serve, CUDA_ERROR_SYSTEM_NOT_READY);
        return;
    }
    // Known before anybody can call.
    serve_fail(serve, ask_expect(offer.token, &link->expected, &answer));
    if (serve_failed(serve))
        return;
    offer.number = link->expected;
    snprintf(offer.refusal, sizeof(offer.refusal), "%s", answer.refusal);
    snprintf(offer.addresses, sizeof(offer.addresses), "%s", answer.addresses);
    serve_reply_bytes(serve, &offer, sizeof(offer));
}

static void expect_new(struct serve *serve, uint32_t number, bool privacy, uint32_t ways,
                       const void *name, size_t size)
{
    struct peer_link *link = peer_direct_begin(serve, number, privacy, ways, name, size);

    if (!link)
        return;
    peer_direct_expect(serve, link);
    peer_direct_leave(link);
}

void serve_peer_offer(struct serve *serve, const struct args_peer_offer *args)
{
    expect_new(serve, args->peer, args->privacy, 0, args + 1, args->bytes);
}

void serve_peer_expect(struct serve *serve, const struct args_peer_expect *args)
{
    expect_new(serve, args->peer, args->privacy, args->ways, args + 1, args->bytes);
}

static void peer_direct_call(struct serve *serve, struct peer_link *link,
                             const struct wire_peer_offer *offer, char *why, size_t room)
{
    struct control_peer_call order = {.session = offer->session, .number = offer->number};
    struct control_peer_called answer;
    int fd = -1;

    memcpy(order.token, offer->token, sizeof(order.token));
    snprintf(order.addresses, sizeof(order.addresses), "%.*s", (int)sizeof(offer->addresses),
             offer->addresses);
    serve_fail(serve, ask_call(&order, &answer, &fd));
    explicit_bzero(&order, sizeof(order));
    {
        SCOPED_LOCK(&peer_mover.lock);
        snprintf(link->address, sizeof(link->address), "%s", fd < 0 ? "" : answer.address);
    }
    int err = fd < 0 ? -ECONNREFUSED : peer_direct_meet(link, fd, false, answer.secret);
    explicit_bzero(&answer.secret, sizeof(answer.secret));
    snprintf(why, room, "%s", *answer.refusal ? answer.refusal : err ? strerror(-err) : "");
}

// The data after the arguments of either request that makes the other end call. Without an offer
// the client has only the name.
static void meet_offered(struct serve *serve, uint32_t number, bool privacy, uint32_t ways,
                         const void *bytes, size_t size, struct wire_peer_met *met)
{
    const struct wire_peer_offer *offer = bytes;
    struct peer_link *link = NULL;

    if (size < sizeof(*offer))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        link = peer_direct_begin(serve, number, privacy, ways, offer + 1, size - sizeof(*offer));
    if (!link)
        return;
    if (!*offer->refusal)
        peer_direct_call(serve, link, offer, met->refusal, sizeof(met->refusal));
    SCOPED_LOCK(&peer_mover.lock);
    snprintf(met->way, sizeof(met->way), "%s", link->direct ? link_name(link->direct) : "");
    snprintf(met->reason, sizeof(met->reason), "%s", link->reason);
    peer_link_leave(link);
}

void serve_peer_call(struct serve *serve, const struct args_peer_call *args)
{
    struct wire_peer_met met = {0};

    meet_offered(serve, args->peer, args->privacy, 0, args + 1, args->bytes, &met);
    if (!serve_failed(serve))
        serve_reply_bytes(serve, met.refusal, strlen(met.refusal) + 1);
}

void serve_peer_meet(struct serve *serve, const struct args_peer_meet *args)
{
    struct wire_peer_met met = {0};

    meet_offered(serve, args->peer, args->privacy, args->ways, args + 1, args->bytes, &met);
    if (!serve_failed(serve))
        serve_reply_bytes(serve, &met, sizeof(met));
}

void serve_peer_stands(struct serve *serve, const struct args_peer_stands *args)
{
    SCOPED_LOCK(&peer_mover.lock);
    const struct peer_link *link = peer_link_find(args->peer);
    uint64_t until = clock_ms() + RENDEZVOUS_MS;
    while (link && link->state == PEER_RENDEZVOUS && (uint64_t)clock_ms() < until)
        clock_wait(&peer_mover.ended, &peer_mover.lock, 10000);
    if (!link || link->state != PEER_DIRECT)
        serve_fail(serve, CUDA_ERROR_NOT_READY);
}
