// SPDX-License-Identifier: BSD-3-Clause
// One client from its grant to the end of the process: the two prove themselves to each other, agree on a
// transport, and the main thread watches over the rest.
#include "worker/run.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/control_stream.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/tls.h"
#include "proto/wire.h"
#include "transport/link.h"
#include "worker/account/budget.h"
#include "worker/account/shared.h"
#include "worker/asking.h"
#include "worker/events.h"
#include "worker/execute/shared_events.h"
#include "worker/gpus.h"
#include "worker/intake/dispatch.h"
#include "worker/move/carriers.h"
#include "worker/peer/peer_direct.h"
#include "worker/session.h"
#include "worker/standstill.h"
#include "worker/welcome.h"

enum {
    MEETING_TIMEOUT_MS = 30000, // for the client to prove itself
    REPORT_INTERVAL_MS = 1000,
    IDLE_INTERVAL_MS = 5000, // after a second in which nothing changed
    FAREWELL_MS = 100,       // for the last words to a client
    LAST_WORD_MS = 20,
};

static void *say_farewell(void *text)
{
    event_send(EVENT_ENDING, text, (uint32_t)strlen(text) + 1, (uint32_t)strlen(text) + 1);
    return NULL;
}

// The client may not be reading any more, so that telling it must not take long.
static void end_by_order(const struct control_end *end)
{
    static char text[sizeof(end->text)];
    pthread_t thread;

    snprintf(text, sizeof(text), "%s", end->text);
    if (session.link && !pthread_create(&thread, NULL, say_farewell, text)) {
        struct timespec deadline = deadline_timespec(deadline_in(FAREWELL_MS));
        pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &deadline);
    }
    session_end(end->reason, "%s", end->text);
}

// ---- the client ----

static int give_secret(void *argument, const void *identity, size_t size,
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
    int err = tls_server(stream->fd, give_secret, grant,
                         grant->protection == CONTROL_PROTECTION_PRIVACY, &stream->tls);
    if (!err)
        err = control_secure(stream, clock_ms() + MEETING_TIMEOUT_MS);
    explicit_bzero(grant->secret, sizeof(grant->secret));
    return err;
}

// ---- running ----

static int take_inheritance(const struct control_frame *frame)
{
    struct control_export_inherited inherited;
    int err = control_decode(frame, CONTROL_EXPORT_INHERITED, &inherited);

    int place = err ? -1 : gpu_place_of(inherited.device);
    if (!err && place < 0)
        err = -EPROTO;
    inherited.device = (uint32_t)place;
    if (!err)
        import_inherit(&inherited);
    if (!err && !inherited.charge)
        shared_events_orphaned(&inherited);
    return err;
}

// A connection of another box.
static int take_caller(const struct control_frame *frame, int fd)
{
    struct control_peer_came came;
    int err = control_decode(frame, CONTROL_PEER_CAME, &came);

    if (!err && fd >= 0)
        peer_direct_came(&came, fd);
    explicit_bzero(&came, sizeof(came));
    return err ? err : fd < 0 ? -EPROTO : 0;
}

static int take_pause(const struct control_frame *frame)
{
    struct control_pause pause;
    int err = control_decode(frame, CONTROL_PAUSE, &pause);

    if (!err)
        standstill_begin(pause.number);
    return err;
}

static int take_hold(const struct control_frame *frame)
{
    struct control_hold hold;
    int err = control_decode(frame, CONTROL_HOLD, &hold);

    if (!err)
        standstill_hold(hold.held);
    return err;
}

static int take_move(const struct control_frame *frame)
{
    struct control_moved moved;
    uint32_t numbers[GPUS_MAX];
    int err = control_decode(frame, CONTROL_MOVED, &moved);

    if (!err && moved.gpus_count != session.device_count)
        err = -EPROTO;
    for (uint32_t i = 0; !err && i < moved.gpus_count; i++)
        numbers[i] = moved.gpus[i].ordinal;
    if (!err)
        budget_moved(numbers, moved.gpus_count);
    return err;
}

// What the supervisor says: the end, or something about shared memory or other boxes.
static void take_order(void)
{
    struct control_frame frame = {0};
    struct control_end end = {.reason = CONTROL_END_REASON_SHUTDOWN};
    int passed = -1;
    int err = control_receive_packet(session.control, &frame, &passed);

    if (err == -EAGAIN)
        return;
    if (!err && asking_is_answer(frame.header.type))
        err = asking_answered(&frame, passed);
    else if (!err && frame.header.type == CONTROL_EXPORT_INHERITED)
        err = take_inheritance(&frame);
    else if (!err && frame.header.type == CONTROL_PEER_CAME)
        err = take_caller(&frame, passed);
    else if (!err && frame.header.type == CONTROL_PAUSE)
        err = take_pause(&frame);
    else if (!err && frame.header.type == CONTROL_MOVED)
        err = take_move(&frame);
    else if (!err && frame.header.type == CONTROL_GO_ON)
        standstill_end();
    else if (!err && frame.header.type == CONTROL_HOLD)
        err = take_hold(&frame);
    else if (!err)
        err = control_decode(&frame, CONTROL_END, &end) ?: 1;
    control_frame_free(&frame);
    if (!err)
        return;
    if (err < 0)
        snprintf(end.text, sizeof(end.text), "the supervisor is gone");
    end_by_order(&end);
}

static void watch(int client_fd)
{
    int interval = REPORT_INTERVAL_MS;
    int64_t reported_ms = clock_ms();

    for (;;) {
        struct pollfd fds[] = {{.fd = session.control, .events = POLLIN},
                               {.fd = client_fd, .events = POLLRDHUP}};
        int n = poll(fds, 2, interval);
        if (n < 0 && errno != EINTR)
            session_end(CONTROL_END_REASON_INTERNAL, "poll: %s", strerror(errno));
        if (n > 0 && fds[1].revents) {
            // The thread that reads may know better why the connection is down.
            poll(NULL, 0, LAST_WORD_MS);
            session_end(CONTROL_END_REASON_CLIENT_LEFT, "the client is gone");
        }
        // What the supervisor says, often an answer, is no reason to tell it more than once in a while.
        if (n > 0 && fds[0].revents) {
            take_order();
            if (clock_ms() - reported_ms < REPORT_INTERVAL_MS)
                continue;
        }
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
    watch(client_fd);
    __builtin_unreachable();
}
