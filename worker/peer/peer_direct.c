// SPDX-License-Identifier: BSD-3-Clause
// See peer_direct.h. The client has one worker expect a call, gives what it gets to the other, and waits until both
// ends stand. Until then nothing is asked of the link, so whatever goes wrong leaves it to be made by way of the client.
#include "worker/peer/peer_direct.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/control_stream.h"
#include "common/log.h"
#include "common/scope.h"
#include "common/wait.h"
#include "transport/link.h"
#include "worker/asking.h"
#include "worker/peer/peer_jobs.h"
#include "worker/session.h"
#include "worker/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum { MEETING_MS = 5000 };

// ---- frames ----

struct reader {
    struct peer_link *link;
    struct link *from;
};

static void lose(struct peer_link *link, const char *why)
{
    SCOPED_LOCK(&peer_mover.lock);
    if (link->lost == CUDA_SUCCESS)
        log_warn("the link with box=\"%s\" is down error=\"%s\"", link->name, why);
    peer_link_lose(link, CUDA_ERROR_DEVICE_UNAVAILABLE);
}

static int take_record(struct peer_link *link, struct link *from, void *record, int size)
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
        err = size > 0 ? take_record(reader.link, reader.from, record, size) : size;
    }
    lose(reader.link, *link_error(reader.from) ? link_error(reader.from) : strerror(-err));
    return NULL;
}

static int start_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    int err = pthread_create(&thread, NULL, run, argument);

    if (!err)
        pthread_detach(thread);
    return -err;
}

// ---- the connection becomes a link ----

static int give_secret(void *secret, const void *identity, size_t size,
                       uint8_t key[TLS_SECRET_BYTES])
{
    memcpy(key, secret, TLS_SECRET_BYTES);
    return 0;
}

// The two supervisors have proved the token to each other, and share a secret since then.
static int protect(int fd, bool called, uint8_t secret[TLS_SECRET_BYTES], struct tls **tls)
{
    static const char name[] = "worker";
    struct tls_secret shared = {.identity = name, .identity_size = sizeof(name) - 1};
    struct control_stream stream = {.fd = fd};

    memcpy(shared.key, secret, sizeof(shared.key));
    int err = called ? tls_server(fd, give_secret, secret, true, &stream.tls)
                     : tls_client(fd, &shared, true, &stream.tls);
    explicit_bzero(&shared, sizeof(shared));
    if (!err)
        err = control_secure(&stream, clock_ms() + MEETING_MS);
    if (err)
        tls_discard(&stream.tls);
    *tls = stream.tls;
    return err;
}

static int stand(struct peer_link *link, int fd, struct tls *tls)
{
    const struct link_options options = {.spin_us = setup_spin_us()};
    struct reader *reader = malloc(sizeof(*reader));
    struct link *made = NULL;
    int err = reader ? link_tcp_open(fd, tls, &options, &made) : -ENOMEM;

    if (err) {
        tls_discard(&tls);
        close(fd);
        free(reader);
        return err;
    }
    *reader = (struct reader){link, made};
    SCOPED_LOCK(&peer_mover.lock);
    err = link->state == PEER_MEETING ? start_thread(read_frames, reader) : -ECANCELED;
    if (err) {
        free(reader);
        link_free(&made);
        return err;
    }
    link->direct = made;
    peer_link_stands(link, PEER_DIRECT);
    return 0;
}

// FD is taken.
static int meet(struct peer_link *link, int fd, bool called, uint8_t secret[TLS_SECRET_BYTES])
{
    struct tls *tls = NULL;
    int err = link->privacy ? protect(fd, called, secret, &tls) : 0;

    explicit_bzero(secret, TLS_SECRET_BYTES);
    if (err) {
        close(fd);
        return err;
    }
    return stand(link, fd, tls);
}

struct meeting {
    struct peer_link *link;
    int fd;
    uint8_t secret[TLS_SECRET_BYTES];
};

static void *meet_caller(void *argument)
{
    struct meeting *meeting = argument;
    int err = meet(meeting->link, meeting->fd, true, meeting->secret);

    if (err)
        log_warn("the link with box=\"%s\" does not come about error=\"%s\"", meeting->link->name,
                 strerror(-err));
    free(meeting);
    return NULL;
}

static struct peer_link *find_expecting(uint32_t number)
{
    SCOPED_LOCK(&peer_mover.lock);
    struct peer_link *link = peer_links;
    while (link && !(link->state == PEER_MEETING && link->expected == number))
        link = link->next;
    return link;
}

void peer_direct_came(const struct control_peer_came *came, int fd)
{
    struct meeting *meeting = malloc(sizeof(*meeting));
    struct peer_link *link = find_expecting(came->number);

    if (meeting && link) {
        *meeting = (struct meeting){.link = link, .fd = fd};
        memcpy(meeting->secret, came->secret, sizeof(meeting->secret));
        if (!start_thread(meet_caller, meeting))
            return;
    }
    free(meeting);
    close(fd);
}

// ---- requests ----

// A link whose copies go by way of nobody yet.
static struct peer_link *begin(struct serve *serve, uint32_t number, bool privacy, const void *name,
                               size_t size)
{
    SCOPED_LOCK(&peer_mover.lock);
    if (peer_jobs_start())
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    else
        serve_fail(serve, peer_link_add(number, name, size));
    struct peer_link *link = serve_failed(serve) ? NULL : peer_link_find(number);
    if (link)
        link->privacy = privacy || session.privacy;
    return link;
}

void serve_peer_offer(struct serve *serve, const struct args_peer_offer *args)
{
    struct wire_peer_offer offer = {.session = session.id};
    struct control_peer_expected answer;
    struct peer_link *link = begin(serve, args->peer, args->privacy, args + 1, args->bytes);

    if (!link)
        return;
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

static void call(struct serve *serve, struct peer_link *link, const struct wire_peer_offer *offer)
{
    struct control_peer_call order = {.session = offer->session, .number = offer->number};
    struct control_peer_called answer;
    int fd = -1;

    memcpy(order.token, offer->token, sizeof(order.token));
    snprintf(order.addresses, sizeof(order.addresses), "%.*s", (int)sizeof(offer->addresses),
             offer->addresses);
    serve_fail(serve, ask_call(&order, &answer, &fd));
    int err = fd < 0 ? -ECONNREFUSED : meet(link, fd, false, answer.secret);
    explicit_bzero(&order, sizeof(order));
    explicit_bzero(&answer.secret, sizeof(answer.secret));
    const char *why = *answer.refusal ? answer.refusal : err ? strerror(-err) : "";
    if (!serve_failed(serve))
        serve_reply_bytes(serve, why, strlen(why) + 1);
    SCOPED_LOCK(&peer_mover.lock);
    snprintf(link->address, sizeof(link->address), "%s", err ? "" : answer.address);
}

void serve_peer_call(struct serve *serve, const struct args_peer_call *args)
{
    const struct wire_peer_offer *offer = (const void *)(args + 1);
    bool fits = args->bytes >= sizeof(*offer);
    struct peer_link *link =
        fits ? begin(serve, args->peer, args->privacy, offer + 1, args->bytes - sizeof(*offer))
             : NULL;

    if (!fits)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (link && !*offer->refusal) // else the client has only the name to tell
        call(serve, link, offer);
}

void serve_peer_stands(struct serve *serve, const struct args_peer_stands *args)
{
    SCOPED_LOCK(&peer_mover.lock);
    const struct peer_link *link = peer_link_find(args->peer);
    uint64_t until = clock_ms() + MEETING_MS;
    while (link && link->state == PEER_MEETING && (uint64_t)clock_ms() < until)
        clock_wait(&peer_mover.ended, &peer_mover.lock, 10000);
    if (!link || link->state != PEER_DIRECT)
        serve_fail(serve, CUDA_ERROR_NOT_READY);
}
