// SPDX-License-Identifier: BSD-3-Clause
// A new connection is proved as an extra one is: the client's TLS handshake with the supervisor
// shows that it knows the session's secret, and the supervisor passes the connection on. Then each
// side says how many bytes it has received on the lost one.
#include "transport/tcp/tcp_reconnect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/net/control_stream.h"
#include "common/net/endpoint.h"
#include "common/net/expected_connection.h"

enum {
    STEP_MS = 5000,
    // A client that lives connects again at once where its host can be reached.
    CLOSED_MS_MAX = 5000,
    FIRST_PAUSE_MS = 20,
    LONGEST_PAUSE_MS = 1000,
};

struct tcp_reconnect {
    struct link *link;
    const struct reconnect_ops *ops;
    struct link_reconnect plan;
    pthread_mutex_t taking; // worker: one connection at a time is taken
    pthread_mutex_t lock;   // of the following; after the `state` of a stream
    _Atomic unsigned lost;  // number of lost connections
    uint64_t since;         // when the first of them was lost
    // The client's thread.
    bool runs, ending;
    bool refused; // the session is over
    pthread_t thread;
    pid_t process; // that opened the session; a child may have a copy of it
    int wake;      // event file; -1: this is the worker
    int fd;        // of the connection that the thread makes; -1: none
    uint32_t attempts;
};

// ---- the client ----

// Notes FD, so that freeing the link meanwhile ends a wait on it.
static bool note_fd(struct tcp_reconnect *reconnect, int fd)
{
    SCOPED_LOCK(&reconnect->lock);
    reconnect->fd = fd;
    return !reconnect->ending;
}

static int prove(struct tcp_reconnect *reconnect, unsigned number, struct control_stream *stream,
                 uint8_t secret[TLS_SECRET_BYTES])
{
    const struct link_reconnect *plan = &reconnect->plan;
    int64_t deadline = clock_ms() + STEP_MS;
    int err = expected_connection_prove(stream->fd, plan->session, CONTROL_RESUME_NUMBER + number,
                                        plan->token, deadline, secret);

    if (!err && plan->privacy)
        err = expected_connection_protect(stream->fd, false, secret, deadline, &stream->tls);
    return err;
}

static int exchange(struct tcp_reconnect *reconnect, struct tcp_stream *lost,
                    struct control_stream *stream, const uint8_t secret[TLS_SECRET_BYTES])
{
    int64_t deadline = clock_ms() + STEP_MS;
    struct control_resume mine = {.attempt = ++reconnect->attempts}, theirs = {0};
    int err = reconnect->ops->halt(reconnect->link, lost, &mine);

    if (!err)
        err = control_send(stream, CONTROL_RESUME, &mine, deadline);
    if (!err)
        err = control_expect(stream, CONTROL_RESUME, &theirs, deadline);
    if (err)
        return err == -EPROTO ? -ECONNRESET : err;
    return reconnect->ops->resume(reconnect->link, lost, &theirs, stream, secret);
}

// Returns 0, -EPROTO if the session cannot go on, or another -errno.
static int connect_again(struct tcp_reconnect *reconnect, struct tcp_stream *lost)
{
    struct control_stream stream = {.fd = -1};
    uint8_t secret[TLS_SECRET_BYTES];
    struct endpoint box;
    int err = endpoint_parse(reconnect->plan.box, 0, &box);

    if (!err)
        stream.fd = endpoint_connect(&box, STEP_MS);
    if (!err && stream.fd < 0)
        err = stream.fd;
    if (!err)
        err = note_fd(reconnect, stream.fd) ? prove(reconnect, lost->number, &stream, secret)
                                            : -ECANCELED;
    if (!err)
        err = exchange(reconnect, lost, &stream, secret);
    explicit_bzero(secret, sizeof(secret));
    note_fd(reconnect, -1);
    if (!err)
        return 0;
    tls_discard(&stream.tls);
    if (stream.fd >= 0)
        close(stream.fd);
    log_debug("no connection yet number=%u error=\"%s\"", lost->number, strerror(-err));
    return err;
}

static struct tcp_stream *reconnect_stream(struct tcp_reconnect *reconnect, unsigned number)
{
    return number <= LINK_EXTRA_MAX ? reconnect->ops->stream(reconnect->link, number) : NULL;
}

// Returns true if no connection is lost any more.
static bool tcp_reconnect_all(struct tcp_reconnect *reconnect)
{
    bool all = true;

    for (unsigned number = 0; number <= LINK_EXTRA_MAX; number++) {
        struct tcp_stream *stream = reconnect_stream(reconnect, number);
        int err = stream && tcp_stream_check(stream) ? connect_again(reconnect, stream) : 0;
        if (err == -EPROTO) {
            reconnect->refused = true;
            tcp_stream_give_up(stream);
        }
        all = all && !err;
    }
    return all;
}

static int last_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof(error);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? -errno : -error;
}

// Sleeps until something changes: the end of a connection is noticed here while the program does
// nothing with its GPUs, and before the box has waited too long.
static void watch(struct tcp_reconnect *reconnect)
{
    struct pollfd fds[LINK_EXTRA_MAX + 2] = {{.fd = reconnect->wake, .events = POLLIN}};
    unsigned ages[LINK_EXTRA_MAX + 1];
    uint64_t rings;
    unsigned count = 1 + reconnect->ops->extra(reconnect->link);

    for (unsigned number = 0; number < count; number++) {
        const struct tcp_stream *stream = reconnect->ops->stream(reconnect->link, number);
        ages[number] = atomic_load(&stream->age);
        fds[number + 1] = (struct pollfd){.fd = stream->wire.fd, .events = POLLRDHUP};
    }
    if (poll(fds, count + 1, -1) < 0)
        return;
    if (fds[0].revents && read(reconnect->wake, &rings, sizeof(rings)) < 0)
        log_debug("no wake-up");
    for (unsigned number = 0; number < count; number++)
        if (fds[number + 1].revents)
            tcp_stream_break(reconnect->ops->stream(reconnect->link, number), ages[number],
                             last_error(fds[number + 1].fd), "watching");
}

static void pause_for(struct tcp_reconnect *reconnect, int ms)
{
    struct pollfd woken = {.fd = reconnect->wake, .events = POLLIN};

    poll(&woken, 1, ms);
}

static bool reconnect_goes_on(struct tcp_reconnect *reconnect)
{
    SCOPED_LOCK(&reconnect->lock);
    return !reconnect->ending && !link_failure(reconnect->link) && !reconnect->refused;
}

static bool any_lost(const struct tcp_reconnect *reconnect)
{
    return atomic_load_explicit(&reconnect->lost, memory_order_relaxed);
}

static void *reconnect_main(void *argument)
{
    struct tcp_reconnect *reconnect = argument;
    int pause_ms = FIRST_PAUSE_MS;

    while (reconnect_goes_on(reconnect)) {
        if (!any_lost(reconnect)) {
            watch(reconnect);
            pause_ms = FIRST_PAUSE_MS;
        } else if (!tcp_reconnect_all(reconnect)) {
            pause_for(reconnect, pause_ms);
            pause_ms = 2 * pause_ms < LONGEST_PAUSE_MS ? 2 * pause_ms : LONGEST_PAUSE_MS;
        }
    }
    return NULL;
}

static void reconnect_wake(struct tcp_reconnect *reconnect)
{
    uint64_t one = 1;

    while (reconnect->wake >= 0 && write(reconnect->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

// Under lock. Not before the session is in use: a program may only want to know its GPUs.
static void start_thread(struct tcp_reconnect *reconnect)
{
    if (!*reconnect->plan.box || reconnect->runs || reconnect->ending)
        return;
    reconnect->runs = link_thread_start(&reconnect->thread, "rgpu-reconnect", "lost connections",
                                        reconnect_main, reconnect);
}

// ---- losses, on both sides ----

// Under lock.
static void note_lost(struct tcp_reconnect *reconnect, struct tcp_stream *stream)
{
    if (!reconnect->lost++ && !reconnect->ending) {
        reconnect->since = stream->lost_since;
        log_warn("a connection of the session is lost, the session waits for another one "
                 "seconds=%u reason=\"%s\"",
                 reconnect->plan.timeout_ms / 1000,
                 stream->error ? strerror(-stream->error) : "closed");
    }
    start_thread(reconnect);
    reconnect_wake(reconnect);
}

// The `state` of STREAM is locked.
static void reconnect_notify(struct tcp_stream *stream, bool lost)
{
    struct tcp_reconnect *reconnect = stream->link->reconnect;

    {
        SCOPED_LOCK(&reconnect->lock);
        if (lost)
            note_lost(reconnect, stream);
        else if (!--reconnect->lost)
            log_warn("the session continues over another connection after_ms=%llu",
                     (unsigned long long)(clock_ns() - reconnect->since) / 1000000);
    }
    reconnect->ops->changed(stream, lost);
}

static void watch_stream(struct tcp_stream *stream)
{
    struct tcp_reconnect *reconnect = stream->link->reconnect;

    SCOPED_LOCK(&reconnect->lock);
    start_thread(reconnect);
    reconnect_wake(reconnect);
}

// ---- the worker ----

int link_resume(struct link *link, unsigned number, const struct control_resume *claim,
                struct control_stream *stream, const uint8_t secret[TLS_SECRET_BYTES])
{
    struct tcp_reconnect *reconnect = link->reconnect;
    struct control_resume mine = {.attempt = claim->attempt};
    struct tcp_stream *lost = reconnect ? reconnect_stream(reconnect, number) : NULL;

    if (!lost)
        return -EINVAL;
    SCOPED_LOCK(&reconnect->taking);
    if (lost->wire.fd < 0)
        return reconnect->ops->take_first(link, number, claim, stream);
    if (claim->attempt <= lost->attempt)
        return -EALREADY;
    lost->attempt = claim->attempt;
    int err = reconnect->ops->halt(link, lost, &mine);
    // The client lives, though it may need some attempts.
    tcp_stream_extend(lost);
    if (!err)
        err = control_send(stream, CONTROL_RESUME, &mine, clock_ms() + RECONNECT_ANSWER_MS);
    if (!err)
        err = reconnect->ops->resume(link, lost, claim, stream, secret);
    if (err == -EPROTO)
        link_fail(link, err, "the peer broke the protocol: it continues where this side cannot");
    return err;
}

void link_reconnect_extend(struct link *link, unsigned number)
{
    struct tcp_stream *stream = link->reconnect ? reconnect_stream(link->reconnect, number) : NULL;

    if (stream && stream->wire.fd >= 0)
        tcp_stream_extend(stream);
}

// ---- both sides ----

static bool end_thread(struct tcp_reconnect *reconnect)
{
    SCOPED_LOCK(&reconnect->lock);
    reconnect->ending = true;
    if (reconnect->fd >= 0)
        shutdown(reconnect->fd, SHUT_RDWR);
    reconnect_wake(reconnect);
    return reconnect->runs;
}

static void tcp_reconnect_stop(struct tcp_reconnect *reconnect)
{
    // In a child the lock may be held by a thread that is not there, and nothing runs.
    if (reconnect->process == getpid() && end_thread(reconnect))
        pthread_join(reconnect->thread, NULL);
    reconnect->runs = false;
}

void tcp_reconnect_end(struct link *link)
{
    if (link_reconnecting(link))
        link_shutdown(link);
    if (link->reconnect)
        tcp_reconnect_stop(link->reconnect);
}

uint32_t link_reconnect_timeout(const struct link *link)
{
    return link->reconnect ? link->reconnect->plan.timeout_ms : 0;
}

bool link_reconnecting(const struct link *link)
{
    return link->reconnect && any_lost(link->reconnect);
}

void link_reconnect_check(struct link *link)
{
    if (!link_reconnecting(link))
        return;
    for (unsigned number = 0; number <= LINK_EXTRA_MAX; number++) {
        struct tcp_stream *stream = reconnect_stream(link->reconnect, number);
        if (stream)
            tcp_stream_check(stream);
    }
}

void link_goodbye(struct link *link)
{
    if (!link->reconnect || link_failure(link) || link->reconnect->process != getpid())
        return;
    // The box closes its connections at once, which is no loss that anything has to mend.
    tcp_reconnect_stop(link->reconnect);
    link->reconnect->ops->goodbye(link);
}

// ---- beginning and end ----

int tcp_reconnect_new(struct link *link, const struct reconnect_ops *ops,
                      const struct link_reconnect *plan)
{
    struct tcp_reconnect *reconnect = calloc(1, sizeof(*reconnect));

    if (!reconnect)
        return -ENOMEM;
    reconnect->link = link;
    reconnect->ops = ops;
    reconnect->plan = *plan;
    reconnect->process = getpid();
    reconnect->fd = reconnect->wake = -1;
    pthread_mutex_init(&reconnect->taking, NULL);
    pthread_mutex_init(&reconnect->lock, NULL);
    for (unsigned number = 0; number <= LINK_EXTRA_MAX; number++) {
        struct tcp_stream *stream = reconnect_stream(reconnect, number);
        if (!stream)
            continue;
        stream->survives = stream->log.keeps = true;
        stream->timeout_ms = stream->closed_ms = plan->timeout_ms;
        if (!*plan->box && stream->closed_ms > CLOSED_MS_MAX)
            stream->closed_ms = CLOSED_MS_MAX;
        stream->notify = reconnect_notify;
        stream->in_use = watch_stream;
    }
    link->reconnect = reconnect;
    if (*plan->box)
        reconnect->wake = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return *plan->box && reconnect->wake < 0 ? -errno : 0;
}

void tcp_reconnect_abandon(struct tcp_reconnect *reconnect)
{
    reconnect->runs = false;
    if (reconnect->fd >= 0)
        close(reconnect->fd);
    if (reconnect->wake >= 0)
        close(reconnect->wake);
    reconnect->fd = reconnect->wake = -1;
}

void tcp_reconnect_free(struct tcp_reconnect **reconnect)
{
    struct tcp_reconnect *old = *reconnect;

    *reconnect = NULL;
    if (!old)
        return;
    tcp_reconnect_abandon(old);
    explicit_bzero(&old->plan, sizeof(old->plan));
    free(old);
}
