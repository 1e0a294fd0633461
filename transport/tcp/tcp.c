// SPDX-License-Identifier: BSD-3-Clause
// The tcp link: records over a connected stream socket. This is the receiving side, and the ends.
//
// Payloads are read to the caller's memory. Parts of large payloads may use extra connections
// (tcp_extra.h), whose number is in the three low bits of the record's size. TLS only replaces the
// two functions that send to and receive from the socket.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/tcp/tcp_private.h"
#include "transport/tcp/tcp_reconnect.h"
#include "transport/tcp/tcp_sender.h"

enum {
    RECEIVE_ROOM = 256 * 1024,
    // After a payload most likely comes a small record with a payload; bytes read beyond the record
    // would have to be copied.
    READ_AFTER_BULK = 256,
    SPIN_TURNS = 1, // each look is a system call
    // As TCP_ACK_PAYLOAD_BYTES, if there were no payloads: records take little memory then.
    ACK_RECORDS_BYTES = 128 * 1024,
};

_Static_assert(RECEIVE_ROOM >= 2 * WIRE_RECORD_MAX, "a record fits behind another");

static struct tcp_link *tcp_of(struct link *link)
{
    return (struct tcp_link *)link;
}

// ---- receiving ----

// Reads the available bytes, or waits for them up to two seconds.
static ssize_t read_some(struct tcp_link *tcp, void *to, size_t room, bool wait)
{
    ssize_t n = tcp_stream_receive(&tcp->own, to, room, wait);

    if (n > 0)
        link_count(&tcp->base.received, (uint64_t)n);
    return n;
}

static bool tcp_take_interrupt(struct tcp_link *tcp)
{
    return atomic_load_explicit(&tcp->interrupted, memory_order_relaxed) &&
           atomic_exchange(&tcp->interrupted, false);
}

// Sleeps until there is something to read (1), or until the deadline or a wake-up (0).
static int tcp_sleep_for_bytes(struct tcp_link *tcp, bool interruptible, uint64_t deadline)
{
    uint64_t count;
    int r;

    atomic_store(&tcp->receiver_sleeps, true);
    do {
        if (interruptible && tcp_take_interrupt(tcp))
            r = 0;
        else
            r = tcp_stream_wait(&tcp->own, tcp->interrupt, deadline);
        if (r == TCP_SOCKET_EVENT) {
            if (read(tcp->interrupt, &count, sizeof(count)) < 0 && errno != EAGAIN)
                r = -errno;
            else if (interruptible && tcp_take_interrupt(tcp))
                r = 0;
        }
    } while (r == TCP_SOCKET_EVENT && !link_failure(&tcp->base));
    atomic_store_explicit(&tcp->receiver_sleeps, false, memory_order_relaxed);
    if (link_failure(&tcp->base))
        return link_failure(&tcp->base);
    return r < 0 ? link_fail(&tcp->base, r, "receiving failed: %s", strerror(-r)) : r > 0;
}

// False: spinning was in vain.
static bool tcp_spin_for_bytes(struct tcp_link *tcp, void *to, size_t room, bool interruptible,
                               ssize_t *n)
{
    struct spin spin = {.us = tcp->base.spin_us};

    while (spin_more(&spin, SPIN_TURNS)) {
        *n = read_some(tcp, to, room, false);
        if (*n || (interruptible && tcp_take_interrupt(tcp))) {
            spin_paid(&tcp->habit);
            return true;
        }
    }
    spin_was_in_vain(&tcp->habit, tcp->base.spin_us);
    return false;
}

// Reads at least one byte. Returns their number, 0 after the timeout or a wake-up, or -errno.
static ssize_t tcp_read_more(struct tcp_link *tcp, void *to, size_t room, bool interruptible,
                             int timeout_ms)
{
    bool plain = !interruptible && timeout_ms < 0 && !tcp->own.encrypted;
    uint64_t deadline;
    ssize_t n = 0;

    // A thread that will not spin need not look either, if the call that looks can wait.
    if (!plain || !tcp->habit.skip)
        n = read_some(tcp, to, room, false);
    if (n || timeout_ms == 0 || (interruptible && tcp_take_interrupt(tcp)))
        return n;
    if (spin_is_due(&tcp->habit) && tcp_spin_for_bytes(tcp, to, room, interruptible, &n))
        return n;
    if (plain && (n = read_some(tcp, to, room, true)))
        return n;
    // Longer waits are watched over.
    for (deadline = deadline_in(timeout_ms);;) {
        int r = tcp_sleep_for_bytes(tcp, interruptible, deadline);
        if (r <= 0)
            return r;
        n = read_some(tcp, to, room, false);
        if (n)
            return n;
    }
}

// Takes the word of the record at the start of the buffer apart: its size, 0 for those of the link
// itself, the number of extra connections that have parts of its payload, and the eights that the
// peer acknowledges. Returns false if it is not there yet.
static bool look_at_word(const struct tcp_link *tcp, uint32_t *size, unsigned *used, uint32_t *ack)
{
    uint32_t word;

    if (tcp->end - tcp->start < sizeof(word))
        return false;
    memcpy(&word, tcp->buffer + tcp->start, sizeof(word));
    *used = word & LINK_EXTRA_MAX;
    *ack = tcp->own.survives ? word >> TCP_WORD_ACK_SHIFT : 0;
    *size = word - *used - (*ack << TCP_WORD_ACK_SHIFT);
    return true;
}

// Returns the size of the next record once it is known, TCP_ACK_BYTES for one of the link itself; 0
// before, or -EPROTO.
static int next_size(struct tcp_link *tcp)
{
    uint32_t size, ack;

    if (!look_at_word(tcp, &size, &tcp->used, &ack))
        return 0;
    if (tcp->own.survives && !size && !ack)
        return TCP_ACK_BYTES;
    if (!link_record_size_valid(size) || !tcp_extra_await(&tcp->extra, tcp->used))
        return link_fail(&tcp->base, -EPROTO,
                         "the peer broke the protocol: record of %u bytes, %u extra connections",
                         size, tcp->used);
    return (int)size;
}

static void note_whole(struct tcp_link *tcp)
{
    uint32_t size, ack;
    unsigned used;
    bool known = look_at_word(tcp, &size, &used, &ack);
    bool own = known && tcp->own.survives && !size;
    bool whole = known && ((own ? TCP_ACK_BYTES : size) <= tcp->end - tcp->start ||
                           (!own && !link_record_size_valid(size)));

    atomic_store_explicit(&tcp->whole, whole, memory_order_relaxed);
}

static ssize_t fill_buffer(struct tcp_link *tcp, int timeout_ms)
{
    size_t room;
    ssize_t n;

    if (tcp->start == tcp->end) {
        tcp->start = tcp->end = 0;
    } else if (RECEIVE_ROOM - tcp->start < WIRE_RECORD_MAX) {
        memmove(tcp->buffer, tcp->buffer + tcp->start, tcp->end - tcp->start);
        tcp->end -= tcp->start;
        tcp->start = 0;
    }
    room = RECEIVE_ROOM - tcp->end;
    if (room > tcp->read_size)
        room = tcp->read_size;
    n = tcp_read_more(tcp, tcp->buffer + tcp->end, room, timeout_ms != LINK_UNINTERRUPTIBLE,
                      timeout_ms);
    if (n <= 0)
        return n;
    tcp->end += (size_t)n;
    if ((size_t)n == tcp->read_size && tcp->read_size < RECEIVE_ROOM)
        tcp->read_size *= 8;
    return n;
}

static int note_acknowledged(struct tcp_link *tcp, unsigned number, uint32_t units)
{
    if (tcp_stream_acknowledged(tcp_stream_at(tcp, number), (uint64_t)units * TCP_ACK_UNIT))
        return 0;
    return link_fail(&tcp->base, -EPROTO,
                     "the peer broke the protocol: it acknowledges what was not sent");
}

// Takes a record of the link itself. Returns 0 or the error of the link.
static int take_own_record(struct tcp_link *tcp)
{
    uint32_t words[2];

    memcpy(words, tcp->buffer + tcp->start, sizeof(words));
    tcp->start += sizeof(words);
    note_whole(tcp);
    if (words[1] == TCP_GOODBYE)
        return link_fail(&tcp->base, -EPIPE, "the peer has gone");
    return note_acknowledged(tcp, tcp->used, words[1]);
}

// Copies the whole record at the start of the buffer.
static int take_record(struct tcp_link *tcp, uint32_t size, void *buffer, size_t room)
{
    uint32_t word;

    if (size > room)
        return link_fail(&tcp->base, -EPROTO, "the peer broke the protocol: record of %u bytes",
                         size);
    memcpy(buffer, tcp->buffer + tcp->start, size);
    memcpy(&word, buffer, sizeof(word));
    memcpy(buffer, &size, sizeof(size));
    tcp->start += size;
    note_whole(tcp);
    if (tcp->own.survives && word >> TCP_WORD_ACK_SHIFT) {
        int err = note_acknowledged(tcp, 0, word >> TCP_WORD_ACK_SHIFT);
        if (err)
            return err;
    }
    return (int)size;
}

// Acknowledges much that no record of this side has acknowledged yet.
static void acknowledge(struct tcp_link *tcp)
{
    uint64_t least = tcp->bulky ? TCP_ACK_PAYLOAD_BYTES : ACK_RECORDS_BYTES;

    if (tcp_stream_unreported(&tcp->own) < least)
        return;
    tcp->bulky = false;
    tcp_sender_acknowledge(tcp, &tcp->own);
}

static int tcp_receive(struct link *link, void *buffer, size_t room, int timeout_ms)
{
    struct tcp_link *tcp = tcp_of(link);

    for (;;) {
        int size = next_size(tcp);
        if (size < 0)
            return size;
        if (size && (size_t)size <= tcp->end - tcp->start) {
            uint32_t first;
            memcpy(&first, tcp->buffer + tcp->start, sizeof(first));
            if (first > LINK_EXTRA_MAX)
                return take_record(tcp, (uint32_t)size, buffer, room);
            // The caller may want nothing but to take in what is there already.
            if ((size = take_own_record(tcp)) || tcp->start == tcp->end)
                return size;
            continue;
        }
        if (tcp->own.survives)
            acknowledge(tcp);
        ssize_t n = fill_buffer(tcp, timeout_ms);
        if (n <= 0)
            return (int)n;
    }
}

static int receive_own(struct tcp_link *tcp, uint8_t *to, size_t length)
{
    size_t have = tcp->end - tcp->start;

    if (have > length)
        have = length;
    memcpy(to, tcp->buffer + tcp->start, have);
    tcp->start += have;
    to += have;
    length -= have;
    while (length) {
        ssize_t n = tcp_read_more(tcp, to, length, false, -1);
        if (n < 0)
            return (int)n;
        to += n;
        length -= (size_t)n;
    }
    tcp->read_size = READ_AFTER_BULK;
    tcp->bulky = true;
    note_whole(tcp);
    return 0;
}

static int tcp_receive_ahead(struct link *link, void *payload, size_t length,
                             struct link_ahead *ahead)
{
    struct tcp_link *tcp = tcp_of(link);
    unsigned used = tcp->used;
    size_t first = tcp_extra_begin(&tcp->extra, false, used, payload, length, ahead);
    int r = receive_own(tcp, payload, first);

    tcp->used = 0;
    link_count(&link->received, length - first);
    if (tcp->opening)
        tcp_opening_moved(tcp->opening, length);
    return r;
}

static int tcp_receive_bulk(struct link *link, void *payload, size_t length)
{
    struct link_ahead ahead = {0};
    int r = tcp_receive_ahead(link, payload, length, &ahead);

    tcp_sender_settle(link, &ahead);
    return r ? r : link_failure(link);
}

static const struct link_advance tcp_advance = {
    .send = tcp_sender_bulk_ahead,
    .receive = tcp_receive_ahead,
    .settle = tcp_sender_settle,
};

static bool tcp_pending(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);
    return atomic_load_explicit(&tcp->whole, memory_order_relaxed) || tcp_stream_pending(&tcp->own);
}

static void ring_interrupt(struct tcp_link *tcp)
{
    uint64_t one = 1;

    while (write(tcp->interrupt, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

static void tcp_interrupt(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    atomic_store(&tcp->interrupted, true);
    if (atomic_load(&tcp->receiver_sleeps))
        ring_interrupt(tcp);
}

// ---- ends ----

static void tcp_wake_all(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    tcp_stream_wake(&tcp->own);
    tcp_extra_wake(&tcp->extra);
    ring_interrupt(tcp);
}

static void tcp_close(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    if (tcp->own.wire.fd >= 0)
        close(tcp->own.wire.fd);
    if (tcp->interrupt >= 0)
        close(tcp->interrupt);
    tcp->own.wire.fd = tcp->interrupt = -1;
    tcp->flusher_runs = false; // a forked child has no such thread
    tcp_extra_close(&tcp->extra);
    if (tcp->opening)
        tcp_opening_abandon(tcp->opening);
    if (link->reconnect)
        tcp_reconnect_abandon(link->reconnect);
}

static void tcp_free(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    tcp_reconnect_end(link);
    tcp_sender_stop(tcp);
    if (tcp->opening)
        tcp_opening_free(&tcp->opening);
    tcp_extra_free(&tcp->extra);
    tcp_stream_free(&tcp->own);
    tcp_close(link);
    tcp_reconnect_free(&link->reconnect);
    free(tcp->buffer);
    free(tcp);
}

static const struct link_ops tcp_ops = {
    .memory = LINK_MEMORY_APART,
    .reserve = tcp_sender_reserve,
    .commit = tcp_sender_commit,
    .cancel = tcp_sender_cancel,
    .flush = tcp_sender_flush,
    .send_bulk = tcp_sender_bulk,
    .receive = tcp_receive,
    .receive_bulk = tcp_receive_bulk,
    .advance = &tcp_advance,
    .pending = tcp_pending,
    .interrupt = tcp_interrupt,
    .staging = link_no_staging,
    .window = link_no_window,
    .sharing = &link_shares_nothing,
    .reaching = &link_reaches_nothing,
    .wake_all = tcp_wake_all,
    .close = tcp_close,
    .free = tcp_free,
};

int link_tcp_open(int fd, struct tls *tls, const struct link_options *options, struct link **out)
{
    struct tcp_link *tcp = calloc(1, sizeof(*tcp));
    int r = -ENOMEM;

    if (!tcp)
        return -ENOMEM;
    link_init(&tcp->base, &tcp_ops, "tcp", options);
    tcp_stream_init(&tcp->own, &tcp->base, 0);
    tcp_extra_init(&tcp->extra, &tcp->base);
    tcp->interrupt = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    tcp->buffer = malloc(RECEIVE_ROOM);
    tcp->read_size = RECEIVE_ROOM;
    pthread_cond_init(&tcp->work, NULL);
    gather_guess_start(&tcp->guess);
    if (tcp->interrupt < 0)
        r = -errno;
    if (tcp->interrupt < 0 || !tcp->buffer) {
        tcp_free(&tcp->base);
        return r;
    }
    tcp_stream_begin(&tcp->own, fd, tls);
    if (!tls)
        tcp_socket_let_wait(fd);
    *out = &tcp->base;
    return 0;
}

void link_tcp_offer(struct link *link, unsigned count)
{
    if (link->ops == &tcp_ops)
        tcp_of(link)->extra.offered = count < LINK_EXTRA_MAX ? count : LINK_EXTRA_MAX;
}

int link_tcp_extra(struct link *link, unsigned index, unsigned count, int fd, struct tls *tls)
{
    if (link->ops != &tcp_ops)
        return -EOPNOTSUPP;
    int err = tcp_extra_add(&tcp_of(link)->extra, index, fd, tls);
    return err ? err : tcp_extra_stand(&tcp_of(link)->extra, count, true);
}

int link_tcp_plan(struct link *link, const struct link_extra_plan *plan)
{
    if (link->ops != &tcp_ops)
        return -EOPNOTSUPP;
    struct tcp_link *tcp = tcp_of(link);
    link_tcp_offer(link, plan->count);
    return tcp_opening_new(&tcp->extra, plan, &tcp->opening);
}

size_t link_tcp_unacknowledged(struct link *link, const struct link_ahead *ahead)
{
    if (link->ops != &tcp_ops || !tcp_of(link)->own.survives)
        return 0;
    uint64_t confirmed = atomic_load(&tcp_of(link)->own.confirmed);
    return confirmed < ahead->bytes[0] ? (size_t)(ahead->bytes[0] - confirmed) : 0;
}

// ---- lost connections ----

static struct tcp_stream *tcp_stream_of(struct link *link, unsigned number)
{
    return tcp_stream_at(tcp_of(link), number);
}

static unsigned tcp_extra_used(struct link *link)
{
    return tcp_of(link)->extra.sending;
}

static int tcp_halt(struct link *link, struct tcp_stream *lost, struct control_resume *mine)
{
    mine->received = tcp_stream_halt(lost);
    mine->extra = (uint8_t)tcp_extra_used(link);
    return 0;
}

static int tcp_resume(struct link *link, struct tcp_stream *lost,
                      const struct control_resume *theirs, struct control_stream *stream,
                      const uint8_t secret[TLS_SECRET_BYTES])
{
    return tcp_stream_continue(lost, stream->fd, stream->tls, theirs->received);
}

static int tcp_take_first(struct link *link, unsigned number, const struct control_resume *claim,
                          struct control_stream *stream)
{
    struct tcp_extra *extra = &tcp_of(link)->extra;
    struct control_resume mine = {.attempt = claim->attempt};

    if (number > claim->extra || claim->extra > extra->offered)
        return -EINVAL;
    int err = control_send(stream, CONTROL_RESUME, &mine, clock_ms() + RECONNECT_ANSWER_MS);
    if (!err)
        err = tcp_extra_add(extra, number - 1, stream->fd, stream->tls);
    return err ? err : tcp_extra_stand(extra, claim->extra, true);
}

static void tcp_changed(struct tcp_stream *stream, bool lost)
{
    struct tcp_link *tcp = tcp_of(stream->link);

    if (!lost && stream->number)
        tcp_extra_again(&tcp->extra, stream->number - 1);
    else if (!lost)
        tcp_sender_soon(tcp);
}

static void tcp_goodbye(struct link *link)
{
    tcp_sender_goodbye(tcp_of(link));
}

static const struct reconnect_ops tcp_reconnect_ops = {
    .stream = tcp_stream_of,
    .extra = tcp_extra_used,
    .halt = tcp_halt,
    .resume = tcp_resume,
    .take_first = tcp_take_first,
    .changed = tcp_changed,
    .goodbye = tcp_goodbye,
};

static void acknowledge_stream(struct tcp_stream *stream)
{
    tcp_sender_acknowledge(tcp_of(stream->link), stream);
}

int link_tcp_survive(struct link *link, const struct link_reconnect *plan)
{
    if (link->ops != &tcp_ops)
        return -EOPNOTSUPP;
    for (unsigned number = 0; number <= LINK_EXTRA_MAX; number++)
        tcp_stream_of(link, number)->acknowledge = acknowledge_stream;
    return tcp_reconnect_new(link, &tcp_reconnect_ops, plan);
}
