// SPDX-License-Identifier: BSD-3-Clause
// A connection is replaced under its descriptor's number, so that threads may sleep on it at any
// time: shutting the old one down wakes them. Its TLS and the counters of bytes change only while
// no thread reads or writes.
#include "transport/tcp/tcp_stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scope.h"

enum { PIECES = 8, LOOK_MS = 200 };

void tcp_stream_init(struct tcp_stream *stream, struct link *link, unsigned number)
{
    pthread_mutexattr_t adaptive;

    stream->link = link;
    stream->number = number;
    stream->wire = (struct tcp_wire){.fd = -1};
    pthread_mutexattr_init(&adaptive);
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&stream->lock, &adaptive);
    pthread_mutexattr_destroy(&adaptive);
    pthread_mutex_init(&stream->in, NULL);
    pthread_mutex_init(&stream->sending, NULL);
    pthread_mutex_init(&stream->state, NULL);
    pthread_cond_init(&stream->changed, NULL);
}

void tcp_stream_begin(struct tcp_stream *stream, int fd, struct tls *tls)
{
    tcp_socket_prepare(fd);
    stream->encrypted = tls != NULL;
    if (tls)
        tls_read_ahead(tls);
    stream->wire = (struct tcp_wire){.fd = fd, .tls = tls};
}

// Locks and conditions hold nothing to give back, and in a forked child destroying them could wait
// for threads that are not there. There the log may be in the middle of a change, too.
void tcp_stream_free(struct tcp_stream *stream)
{
    tls_discard(&stream->wire.tls);
    if (stream->wire.fd < 0)
        return;
    close(stream->wire.fd);
    stream->wire.fd = -1;
    tcp_log_free(&stream->log);
}

// ---- the loss of a connection ----

static bool is_loss(int error)
{
    return error == 0 || error == -ECONNRESET || error == -EPIPE || error == -ETIMEDOUT ||
           error == -EHOSTUNREACH || error == -ENETUNREACH || error == -ENETDOWN ||
           error == -ENETRESET || error == -ECONNABORTED;
}

// Returns true if the peer's host has said that the connection is closed, so it can be reached.
static bool is_closed_by_peer(int error)
{
    return error == 0 || error == -ECONNRESET || error == -EPIPE;
}

int tcp_stream_break(struct tcp_stream *stream, unsigned age, int error, const char *doing)
{
    if (!stream->survives || atomic_load(&stream->over) || !is_loss(error))
        return tcp_wire_failed(stream->link, &stream->wire, error, doing);
    SCOPED_LOCK(&stream->state);
    if (link_failure(stream->link) || stream->lost || stream->age != age)
        return link_failure(stream->link);
    stream->error = error;
    stream->lost_since = clock_ns();
    atomic_store(&stream->deadline,
                 deadline_in(
                     (int)(is_closed_by_peer(error) ? stream->closed_ms : stream->timeout_ms)));
    atomic_store(&stream->lost, true);
    shutdown(stream->wire.fd, SHUT_RDWR);
    pthread_cond_broadcast(&stream->changed);
    stream->notify(stream, true);
    return 0;
}

void tcp_stream_give_up(struct tcp_stream *stream)
{
    SCOPED_LOCK(&stream->state);
    atomic_store(&stream->over, true);
    atomic_store(&stream->lost, false);
    pthread_cond_broadcast(&stream->changed);
}

void tcp_stream_extend(struct tcp_stream *stream)
{
    SCOPED_LOCK(&stream->state);
    if (stream->lost)
        atomic_store(&stream->deadline, deadline_from(stream->lost_since, (int)stream->timeout_ms));
}

bool tcp_stream_check(struct tcp_stream *stream)
{
    if (!tcp_stream_lost(stream))
        return false;
    if (!deadline_left(atomic_load(&stream->deadline)))
        tcp_wire_failed(stream->link, &stream->wire, stream->error, "reconnecting");
    return true;
}

// Waits until the stream has a connection (1), until the eventfd EVENT is written
// (TCP_SOCKET_EVENT), or until DEADLINE (0).
static int await_connection(struct tcp_stream *stream, int event, uint64_t deadline)
{
    struct pollfd written = {.fd = event, .events = POLLIN};

    while (tcp_stream_check(stream)) {
        if (link_failure(stream->link))
            return link_failure(stream->link);
        int left = deadline_left(deadline);
        if (event >= 0 && poll(&written, 1, 0) > 0)
            return TCP_SOCKET_EVENT;
        if (!left)
            return 0;
        SCOPED_LOCK(&stream->state);
        if (stream->lost && !link_failure(stream->link))
            clock_wait(&stream->changed, &stream->state,
                       1000 * (uint32_t)(left > 0 && left < LOOK_MS ? left : LOOK_MS));
    }
    return link_failure(stream->link) ? link_failure(stream->link) : TCP_SOCKET_READY;
}

void tcp_stream_wake(struct tcp_stream *stream)
{
    if (stream->wire.fd >= 0)
        shutdown(stream->wire.fd, SHUT_RDWR);
    SCOPED_LOCK(&stream->state);
    pthread_cond_broadcast(&stream->changed);
}

// ---- receiving ----

// A peer sends on until the kernel's memory is full of what a throttled stream does not read, and
// meanwhile the network's queues are full, too. So it may send only as much ahead as the stream
// reads in some milliseconds.
static void follow_throttle(struct tcp_stream *stream)
{
    size_t window = throttle_ahead(&stream->link->throttle, THROTTLE_IN);

    if (window == stream->window)
        return;
    stream->window = window;
    tcp_socket_limit_window(stream->wire.fd, window);
}

ssize_t tcp_stream_receive(struct tcp_stream *stream, void *to, size_t room, bool wait)
{
    ssize_t n = -EAGAIN;

    room = throttle_piece(&stream->link->throttle, THROTTLE_IN, room);
    if (stream->survives)
        pthread_mutex_lock(&stream->in);
    follow_throttle(stream);
    unsigned age = atomic_load_explicit(&stream->age, memory_order_relaxed);
    if (!tcp_stream_lost(stream))
        n = wait ? tcp_wire_receive_soon(&stream->wire, to, room)
                 : tcp_wire_receive(&stream->wire, to, room);
    if (n > 0)
        link_count(&stream->received, (uint64_t)n);
    if (stream->survives)
        pthread_mutex_unlock(&stream->in);
    if (n > 0) {
        link_throttle(stream->link, THROTTLE_IN, (size_t)n);
        return n;
    }
    if (n == -EAGAIN)
        return link_failure(stream->link);
    return tcp_stream_break(stream, age, (int)n, "receiving");
}

bool tcp_stream_pending(struct tcp_stream *stream)
{
    struct pollfd readable = {.fd = stream->wire.fd, .events = POLLIN};

    if (tcp_stream_lost(stream))
        return false;
    if (poll(&readable, 1, 0) > 0)
        return true;
    if (!stream->encrypted)
        return false;
    SCOPED_LOCK(&stream->in); // with TLS no thread sleeps while it holds this
    return tls_pending(stream->wire.tls);
}

int tcp_stream_wait(struct tcp_stream *stream, int event, uint64_t deadline)
{
    unsigned age = atomic_load_explicit(&stream->age, memory_order_relaxed);

    if (tcp_stream_lost(stream))
        return await_connection(stream, event, deadline);
    int r = tcp_socket_wait(stream->wire.fd, POLLIN, event, deadline);
    if (r >= 0)
        return r;
    r = tcp_stream_break(stream, age, r, "receiving");
    return r ? r : TCP_SOCKET_READY;
}

// ---- sending ----

static int await_room(struct tcp_stream *stream, unsigned age)
{
    struct link *link = stream->link;
    int r = tcp_socket_wait(stream->wire.fd, POLLOUT | POLLRDHUP, -1, UINT64_MAX);

    if (r < 0)
        return tcp_stream_break(stream, age, r, "sending");
    if (!tcp_wire_takes_no_more(&stream->wire))
        return link_failure(link);
    tcp_wire_await_end(link, &stream->wire, &stream->lost);
    return link_failure(link) ? link_failure(link)
                              : tcp_stream_break(stream, age, -EPIPE, "sending");
}

static void note_offered(struct tcp_stream *stream, const struct iovec *parts, int count)
{
    uint64_t end = stream->log.next;

    for (int i = 0; i < count; i++)
        end += parts[i].iov_len;
    atomic_store_explicit(&stream->offered, end, memory_order_release);
}

// Takes the next bytes to be sent, at most a piece of a throttled link. Under lock.
static int take_some(struct tcp_stream *stream, struct iovec parts[PIECES])
{
    int count = tcp_log_take(&stream->log, parts, PIECES), used = 0;
    size_t left = throttle_piece(&stream->link->throttle, THROTTLE_OUT, SIZE_MAX);

    for (; used < count && left; left -= parts[used++].iov_len)
        if (parts[used].iov_len > left)
            parts[used].iov_len = left;
    note_offered(stream, parts, used);
    return used;
}

// Sends some bytes. Returns 1 if that was the end of the log, 0, or -errno.
static int send_some(struct tcp_stream *stream, unsigned *age)
{
    struct iovec parts[PIECES];

    *age = atomic_load_explicit(&stream->age, memory_order_relaxed);
    if (tcp_stream_lost(stream))
        return -ENOTCONN;
    pthread_mutex_lock(&stream->lock);
    int count = take_some(stream, parts);
    pthread_mutex_unlock(&stream->lock);
    if (!count)
        return 1;
    ssize_t n = tcp_wire_send_some(&stream->wire, parts, count);
    if (n < 0)
        return (int)n;
    pthread_mutex_lock(&stream->lock);
    size_t first_time = tcp_log_sent(&stream->log, (size_t)n);
    if (!stream->number) // the sender counts parts of payloads
        link_count(&stream->link->sent, first_time);
    int done = !tcp_log_unsent(&stream->log);
    pthread_mutex_unlock(&stream->lock);
    link_throttle(stream->link, THROTTLE_OUT, (size_t)n);
    return done;
}

// `sending` is given up meanwhile, for tcp_stream_continue().
static int await_to_send(struct tcp_stream *stream)
{
    pthread_mutex_unlock(&stream->sending);
    int r = await_connection(stream, -1, UINT64_MAX);
    pthread_mutex_lock(&stream->sending);
    return r;
}

int tcp_stream_send(struct tcp_stream *stream, bool wait)
{
    for (;;) {
        unsigned age;
        int r = link_failure(stream->link);

        if (r)
            return r;
        r = send_some(stream, &age);
        if (r == 1)
            return 0;
        if ((r == -EAGAIN || r == -ENOTCONN) && !wait)
            return -EAGAIN;
        if (r == -ENOTCONN)
            r = await_to_send(stream);
        else if (r == -EAGAIN)
            r = await_room(stream, age);
        else if (r && r != -EINTR)
            r = tcp_stream_break(stream, age, r, "sending");
        if (r < 0 && r != -EINTR)
            return r;
    }
}

static void raise_confirmed(struct tcp_stream *stream, uint64_t position)
{
    uint64_t confirmed = atomic_load_explicit(&stream->confirmed, memory_order_relaxed);

    while (position > confirmed &&
           !atomic_compare_exchange_weak(&stream->confirmed, &confirmed, position))
        ;
}

bool tcp_stream_acknowledged(struct tcp_stream *stream, uint64_t bytes)
{
    link_count(&stream->acknowledged, bytes);
    uint64_t all = atomic_load_explicit(&stream->acknowledged, memory_order_relaxed);
    if (all > atomic_load_explicit(&stream->offered, memory_order_acquire))
        return false;
    raise_confirmed(stream, all);
    return true;
}

// Returns false if the bytes before UNTIL must be sent again, unless SENDING, which says that the
// caller holds that lock. Else a thread that sends reads only later ones.
static bool settle_log(struct tcp_stream *stream, uint64_t until, bool sending)
{
    SCOPED_LOCK(&stream->lock);
    tcp_log_drop(&stream->log, atomic_load(&stream->confirmed));
    if (!sending && stream->log.next < until)
        return false;
    tcp_log_own(&stream->log, until);
    return true;
}

// The lock of sending is held for as long as newer payloads are sent, so it is taken only after
// another connection was made.
void tcp_stream_settle(struct tcp_stream *stream, uint64_t until)
{
    if (!stream->survives || link_failure(stream->link) || settle_log(stream, until, false))
        return;
    SCOPED_LOCK(&stream->sending);
    settle_log(stream, until, true);
}

// ---- another connection ----

uint64_t tcp_stream_halt(struct tcp_stream *stream)
{
    tcp_stream_break(stream, stream->age, -ECONNRESET, "reconnecting");
    SCOPED_LOCK(&stream->in);
    return stream->received;
}

static bool rewind_log(struct tcp_stream *stream, uint64_t received)
{
    SCOPED_LOCK(&stream->lock);
    // Memory of what was confirmed may be another's already.
    tcp_log_drop(&stream->log, atomic_load(&stream->confirmed));
    if (!tcp_log_rewind(&stream->log, received))
        return false;
    atomic_store(&stream->offered, received);
    raise_confirmed(stream, received);
    return true;
}

int tcp_stream_continue(struct tcp_stream *stream, int fd, struct tls *tls, uint64_t received)
{
    SCOPED_LOCK(&stream->in);
    SCOPED_LOCK(&stream->sending);
    SCOPED_LOCK(&stream->state);
    if (!stream->lost || link_failure(stream->link))
        return -ECANCELED;
    if (!rewind_log(stream, received))
        return -EPROTO;
    tcp_socket_prepare(fd);
    stream->window = 0;
    int err = descriptor_replace(stream->wire.fd, fd);
    if (err)
        return err;
    tls_discard(&stream->wire.tls);
    stream->wire.tls = tls;
    if (tls) {
        tls_use_descriptor(tls, stream->wire.fd);
        tls_read_ahead(tls);
    } else {
        tcp_socket_let_wait(stream->wire.fd);
    }
    atomic_fetch_add(&stream->age, 1);
    atomic_store(&stream->lost, false);
    pthread_cond_broadcast(&stream->changed);
    stream->notify(stream, false);
    return 0;
}
