// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tcp_extra.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "common/base/wait.h"

enum {
    COMING_MS = 10000,  // the supervisor has passed them on already
    TURN_SPIN_US = 100, // the next part mostly follows soon
    PART_UNIT = 4096,   // parts begin at pages, where the payload does
    SPIN_LOOKS = 16,    // between two looks at the clock
};

// ---- a part ----

static void receive_part(struct tcp_half *half, struct tcp_part part)
{
    while (part.length) {
        ssize_t n = tcp_stream_receive(half->stream, part.at, part.length, false);
        if (n < 0 || (!n && tcp_stream_wait(half->stream, -1, UINT64_MAX) < 0))
            return;
        part.at += n;
        part.length -= (size_t)n;
    }
    if (half->stream->survives && tcp_stream_unreported(half->stream) >= TCP_ACK_PAYLOAD_BYTES)
        half->stream->acknowledge(half->stream);
}

static void send_log(struct tcp_half *half)
{
    SCOPED_LOCK(&half->stream->sending);
    tcp_stream_send(half->stream, true);
}

static void send_part(struct tcp_half *half, struct tcp_part part)
{
    struct tcp_stream *stream = half->stream;

    pthread_mutex_lock(&stream->lock);
    if (stream->survives)
        tcp_log_drop(&stream->log, atomic_load(&stream->confirmed));
    int err = tcp_log_borrow(&stream->log, part.at, part.length);
    pthread_mutex_unlock(&stream->lock);
    if (err)
        link_fail(half->link, err, "no memory for a payload");
    send_log(half);
}

// A failure is recorded in the link, and its owner checks it.
static void move_part(struct tcp_half *half, struct tcp_part part)
{
    if (link_failure(half->link))
        return;
    if (half->sends)
        send_part(half, part);
    else
        receive_part(half, part);
}

// ---- its thread ----

static bool reached(const _Atomic unsigned *count, unsigned wanted)
{
    return (int)(atomic_load_explicit(count, memory_order_acquire) - wanted) >= 0;
}

static bool spin_until(const struct tcp_half *half, const _Atomic unsigned *count, unsigned wanted)
{
    uint32_t us = half->link->spin_us < TURN_SPIN_US ? half->link->spin_us : TURN_SPIN_US;
    struct spin spin = {.us = us};

    while (!reached(count, wanted))
        if (!spin_more(&spin, SPIN_LOOKS))
            return false;
    return true;
}

// False: there will be no more.
static bool await_part(struct tcp_half *half, unsigned number)
{
    if (spin_until(half, &half->queued, number))
        return true;
    SCOPED_LOCK(&half->lock);
    half->sleeps = true;
    while (!reached(&half->queued, number) && !half->ending && !half->again)
        pthread_cond_wait(&half->came, &half->lock);
    half->sleeps = false;
    return reached(&half->queued, number) || !half->ending;
}

static bool takes_again(struct tcp_half *half)
{
    SCOPED_LOCK(&half->lock);
    bool again = half->again;
    half->again = false;
    return again;
}

static void *half_main(void *argument)
{
    struct tcp_half *half = argument;

    for (unsigned number = 1; await_part(half, number);) {
        if (takes_again(half))
            send_log(half);
        if (!reached(&half->queued, number))
            continue;
        move_part(half, half->parts[number % TCP_PARTS_AHEAD]);
        SCOPED_LOCK(&half->lock);
        atomic_store_explicit(&half->moved, number++, memory_order_release);
        if (half->settling)
            pthread_cond_broadcast(&half->went);
    }
    return NULL;
}

static void await_moved(struct tcp_half *half, unsigned number)
{
    if (spin_until(half, &half->moved, number))
        return;
    SCOPED_LOCK(&half->lock);
    half->settling++;
    while (!reached(&half->moved, number))
        pthread_cond_wait(&half->went, &half->lock);
    half->settling--;
}

static bool start_half(struct tcp_half *half)
{
    half->runs =
        link_thread_start(&half->thread, "rgpu-extra", "an extra connection", half_main, half);
    return half->runs;
}

// Waits where too many are under way.
static void begin_part(struct tcp_half *half, struct tcp_part part)
{
    unsigned number = half->queued + 1;

    half->bytes += part.length;
    if (!half->runs && !start_half(half)) {
        move_part(half, part); // later than it could be, but right
        return;
    }
    await_moved(half, number - TCP_PARTS_AHEAD);
    half->parts[number % TCP_PARTS_AHEAD] = part;
    SCOPED_LOCK(&half->lock);
    atomic_store_explicit(&half->queued, number, memory_order_release);
    if (half->sleeps)
        pthread_cond_signal(&half->came);
}

// ---- payloads ----

unsigned tcp_extra_use(struct tcp_extra *extra, size_t length)
{
    unsigned sending = atomic_load_explicit(&extra->sending, memory_order_acquire);

    if (!sending || length < 2 * TCP_PART_MIN)
        return 0;
    size_t most = length / TCP_PART_MIN - 1;
    return most < sending ? (unsigned)most : sending;
}

bool tcp_extra_await(struct tcp_extra *extra, unsigned used)
{
    uint64_t deadline = deadline_in(COMING_MS);

    if (used <= atomic_load_explicit(&extra->receiving, memory_order_acquire))
        return true;
    if (used > extra->offered)
        return false;
    SCOPED_LOCK(&extra->lock);
    while (used > extra->receiving && deadline_left(deadline) && !link_failure(extra->link))
        clock_wait_until(&extra->came, &extra->lock, deadline);
    return used <= extra->receiving;
}

static struct tcp_half *tcp_extra_half_of(struct tcp_extra_connection *connection, bool sends)
{
    return sends ? &connection->out : &connection->in;
}

// Both ends cut a payload of the same length, for the same number of extra connections, into the
// same parts.
size_t tcp_extra_begin(struct tcp_extra *extra, bool sends, unsigned used, void *payload,
                       size_t length, struct link_ahead *ahead)
{
    size_t part = (length / (used + 1) + PART_UNIT - 1) / PART_UNIT * PART_UNIT;

    ahead->sends = sends;
    ahead->used = used > ahead->used ? used : ahead->used;
    for (unsigned i = 0; i < used; i++) {
        struct tcp_half *half = tcp_extra_half_of(&extra->list[i], sends);
        size_t from = (i + 1) * part < length ? (i + 1) * part : length;
        size_t to = i + 1 < used && from + part < length ? from + part : length;
        begin_part(half, (struct tcp_part){(uint8_t *)payload + from, to - from});
        ahead->until[i] = half->queued;
        ahead->bytes[i + 1] = half->bytes;
    }
    return used && part < length ? part : length;
}

void tcp_extra_settle(struct tcp_extra *extra, const struct link_ahead *ahead)
{
    for (unsigned i = 0; i < ahead->used; i++) {
        await_moved(tcp_extra_half_of(&extra->list[i], ahead->sends), ahead->until[i]);
        if (ahead->sends)
            tcp_stream_settle(&extra->list[i].stream, ahead->bytes[i + 1]);
    }
}

// ---- their beginning and end ----

static void init_half(struct tcp_half *half, struct link *link, struct tcp_stream *stream,
                      bool sends)
{
    *half = (struct tcp_half){.link = link, .stream = stream, .sends = sends};
    pthread_mutex_init(&half->lock, NULL);
    pthread_cond_init(&half->came, NULL);
    pthread_cond_init(&half->went, NULL);
}

void tcp_extra_init(struct tcp_extra *extra, struct link *link)
{
    extra->link = link;
    pthread_mutex_init(&extra->lock, NULL);
    pthread_cond_init(&extra->came, NULL);
    for (unsigned i = 0; i < LINK_EXTRA_MAX; i++) {
        struct tcp_extra_connection *connection = &extra->list[i];
        tcp_stream_init(&connection->stream, link, i + 1);
        init_half(&connection->out, link, &connection->stream, true);
        init_half(&connection->in, link, &connection->stream, false);
    }
}

int tcp_extra_add(struct tcp_extra *extra, unsigned index, int fd, struct tls *tls)
{
    SCOPED_LOCK(&extra->lock);
    if (index >= extra->offered || extra->list[index].stream.wire.fd >= 0)
        return -EINVAL;
    tcp_stream_begin(&extra->list[index].stream, fd, tls);
    extra->present++;
    return 0;
}

int tcp_extra_stand(struct tcp_extra *extra, unsigned count, bool sending)
{
    SCOPED_LOCK(&extra->lock);
    if (count > extra->offered)
        return -EINVAL;
    if (extra->present < count)
        return 0; // the others are on their way
    for (unsigned i = 0; i < count; i++)
        if (extra->list[i].stream.wire.fd < 0)
            return -EINVAL;
    atomic_store_explicit(&extra->receiving, count, memory_order_release);
    if (sending)
        atomic_store_explicit(&extra->sending, count, memory_order_release);
    if (sending && count && extra->list[0].stream.survives)
        extra->list[0].stream.in_use(&extra->list[0].stream);
    pthread_cond_broadcast(&extra->came);
    return 0;
}

void tcp_extra_again(struct tcp_extra *extra, unsigned index)
{
    struct tcp_half *half = &extra->list[index].out;

    SCOPED_LOCK(&half->lock);
    half->again = true;
    pthread_cond_signal(&half->came);
}

void tcp_extra_wake(struct tcp_extra *extra)
{
    SCOPED_LOCK(&extra->lock);
    for (unsigned i = 0; i < LINK_EXTRA_MAX; i++)
        tcp_stream_wake(&extra->list[i].stream);
    pthread_cond_broadcast(&extra->came);
}

static void stop_half(struct tcp_half *half)
{
    if (!half->runs)
        return;
    {
        SCOPED_LOCK(&half->lock);
        half->ending = true;
        pthread_cond_signal(&half->came);
    }
    pthread_join(half->thread, NULL);
    half->runs = false;
}

void tcp_extra_close(struct tcp_extra *extra)
{
    for (unsigned i = 0; i < LINK_EXTRA_MAX; i++) {
        struct tcp_extra_connection *connection = &extra->list[i];
        // A forked child has no such threads, and nothing under way.
        connection->out.runs = connection->in.runs = false;
        connection->out.moved = connection->out.queued;
        connection->in.moved = connection->in.queued;
        if (connection->stream.wire.fd >= 0)
            close(connection->stream.wire.fd);
        connection->stream.wire.fd = -1;
    }
}

void tcp_extra_free(struct tcp_extra *extra)
{
    for (unsigned i = 0; i < LINK_EXTRA_MAX; i++) {
        stop_half(&extra->list[i].out);
        stop_half(&extra->list[i].in);
        tcp_stream_free(&extra->list[i].stream);
    }
}
