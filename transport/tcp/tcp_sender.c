// SPDX-License-Identifier: BSD-3-Clause
// Records collect in the stream's log. A sender locks `sending` and writes what is there, while
// other threads add more; so records stay in order and share segments. A thread, created when
// needed, sends records without a flush: at once, or delayed (gather_guess.h). Payloads are written
// from the caller's memory.
#include "transport/tcp/tcp_sender.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/scope.h"

enum {
    SEND_ROOM = 256 * 1024, // of bytes that wait to be sent
    CROWD = 256 * 1024,     // of bytes that are not acknowledged
    GOODBYE_TRIES = 20,     // of a millisecond
};

_Static_assert(SEND_ROOM >= 2 * WIRE_RECORD_MAX, "records of any size gather");
_Static_assert(TCP_LOG_RECORDS >= WIRE_RECORD_MAX + TCP_ACK_BYTES, "a record fits into a chunk");

static struct tcp_link *sender_of(struct link *link)
{
    return (struct tcp_link *)link;
}

// ---- acknowledgements ----

// Returns the eights that were received and not reported to the peer yet. Under lock.
static uint32_t unreported(const struct tcp_stream *stream)
{
    uint64_t units = tcp_stream_unreported(stream) / TCP_ACK_UNIT;

    return units < TCP_GOODBYE ? (uint32_t)units : TCP_GOODBYE - 1;
}

static void note_reported(struct tcp_stream *stream, uint32_t units)
{
    link_count(&stream->reported, (uint64_t)units * TCP_ACK_UNIT);
}

// Returns what the word of a record says of received bytes. Under lock.
static uint32_t take_ack(struct tcp_stream *stream)
{
    uint32_t units = stream->survives ? unreported(stream) : 0;

    if (units >= TCP_WORD_ACK_LIMIT)
        return 0; // more than fits: a record of its own follows
    note_reported(stream, units);
    return units << TCP_WORD_ACK_SHIFT;
}

// Adds a record that acknowledges, if there are at least LEAST eights. The log has room for it.
// Under lock.
static void add_ack(struct tcp_link *tcp, struct tcp_stream *stream, uint32_t least)
{
    uint32_t units = stream->survives ? unreported(stream) : 0;
    uint32_t words[] = {stream->number, units};

    if (units < least)
        return;
    memcpy(tcp->own.log.open->bytes + tcp->own.log.open->used, words, sizeof(words));
    tcp_log_add(&tcp->own.log, sizeof(words));
    note_reported(stream, units);
}

// ---- sending ----

// Sends all records. WAIT is that of tcp_stream_send().
static int tcp_send_gathered(struct tcp_link *tcp, bool wait)
{
    {
        SCOPED_LOCK(&tcp->own.lock);
        tcp->urgent = false;
        tcp->takes++;
    }
    SCOPED_LOCK(&tcp->own.sending);
    return tcp_stream_send(&tcp->own, wait);
}

int tcp_sender_flush(struct link *link)
{
    struct tcp_link *tcp = sender_of(link);

    {
        SCOPED_LOCK(&tcp->own.lock);
        gather_guess_flushed(&tcp->guess);
    }
    return tcp_send_gathered(tcp, true);
}

// Under lock, which is given up meanwhile.
static int send_urgent(struct tcp_link *tcp)
{
    pthread_mutex_unlock(&tcp->own.lock);
    int r = link_failure(&tcp->base);
    if (!r)
        r = tcp_send_gathered(tcp, true);
    pthread_mutex_lock(&tcp->own.lock);
    return r;
}

// Waits for a tick, or until something is urgent. Records that were held for the whole tick become
// urgent. Returns true if new records were committed.
static bool look_after_kept(struct tcp_link *tcp)
{
    uint64_t commits = tcp->commits, takes = tcp->takes;
    bool kept = tcp_log_unsent(&tcp->own.log) > 0;

    tcp->flusher_sleeps = true;
    clock_wait(&tcp->work, &tcp->own.lock, tcp->guess.tick_us);
    tcp->flusher_sleeps = false;
    bool missed = kept && !tcp->urgent && tcp->takes == takes;
    gather_guess_tick(&tcp->guess, missed);
    tcp->urgent = tcp->urgent || missed;
    return tcp->commits != commits;
}

static void *flusher_main(void *argument)
{
    struct tcp_link *tcp = argument;
    bool idle = true;
    int r = 0;

    pthread_mutex_lock(&tcp->own.lock);
    while (!tcp->ending && !r) {
        bool waiting = tcp_log_unsent(&tcp->own.log) > 0;
        if (waiting && tcp->urgent) {
            r = send_urgent(tcp);
        } else if (waiting || !idle) {
            idle = !look_after_kept(tcp);
        } else {
            tcp->flusher_sleeps = tcp->flusher_rests = true;
            pthread_cond_wait(&tcp->work, &tcp->own.lock);
            tcp->flusher_sleeps = tcp->flusher_rests = false;
        }
    }
    pthread_mutex_unlock(&tcp->own.lock);
    return NULL;
}

// Under lock.
static void note_use(struct tcp_link *tcp)
{
    if (tcp->watched || !tcp->own.survives)
        return;
    tcp->watched = true;
    tcp->own.in_use(&tcp->own);
}

// Under lock.
static bool start_flusher(struct tcp_link *tcp)
{
    note_use(tcp);
    if (!tcp->flusher_runs)
        tcp->flusher_runs =
            link_thread_start(&tcp->flusher, "rgpu-send", "sending", flusher_main, tcp);
    return tcp->flusher_runs;
}

void tcp_sender_soon(struct tcp_link *tcp)
{
    {
        SCOPED_LOCK(&tcp->own.lock);
        tcp->urgent = true;
        start_flusher(tcp);
    }
    pthread_cond_signal(&tcp->work);
}

// Returns room for a record and an acknowledgement after it. Under lock.
static void *log_room(struct tcp_link *tcp, uint32_t size)
{
    uint64_t confirmed = atomic_load_explicit(&tcp->own.confirmed, memory_order_acquire);

    if (tcp->own.log.keeps && tcp->own.log.begin < confirmed) {
        tcp_log_drop(&tcp->own.log, confirmed);
        tcp->crowd = CROWD;
    }
    if (tcp->own.log.kept > tcp->crowd && tcp->own.log.keeps) {
        tcp->crowd = tcp->own.log.kept + CROWD / 4;
        atomic_store_explicit(&tcp->base.crowded, true, memory_order_relaxed);
    }
    void *room = tcp_log_reserve(&tcp->own.log, size + TCP_ACK_BYTES);
    if (!room)
        link_fail(&tcp->base, -ENOMEM, "no memory for records");
    return room;
}

void *tcp_sender_reserve(struct link *link, uint32_t size)
{
    struct tcp_link *tcp = sender_of(link);

    pthread_mutex_lock(&tcp->own.lock);
    while (tcp_log_unsent(&tcp->own.log) + size > SEND_ROOM) {
        uint64_t start = clock_ns();
        pthread_mutex_unlock(&tcp->own.lock);
        if (link_failure(link) || tcp_send_gathered(tcp, true))
            return NULL;
        pthread_mutex_lock(&tcp->own.lock);
        link_count(&link->waited, clock_ns() - start);
    }
    void *room = log_room(tcp, size);
    if (!room)
        pthread_mutex_unlock(&tcp->own.lock);
    tcp->reserved = size;
    return room;
}

// Returns true if the flusher must be woken for an added record that leaves by itself. Under lock.
static bool leave_to_flusher(struct tcp_link *tcp)
{
    bool keep = gather_guess_waits(&tcp->guess) && tcp_log_unsent(&tcp->own.log) < GATHER_BYTES;

    tcp->urgent = tcp->urgent || !keep;
    bool wake = tcp->urgent ? tcp->flusher_sleeps : tcp->flusher_rests;
    if (wake)
        tcp->flusher_sleeps = tcp->flusher_rests = false; // the next record need not wake it again
    return wake;
}

// Adds the record of SIZE bytes that was written to ROOM. Under lock.
static void add_record(struct tcp_link *tcp, void *room, uint32_t size, unsigned used)
{
    uint32_t word = size | used | take_ack(&tcp->own);

    memcpy(room, &word, sizeof(word));
    tcp_log_add(&tcp->own.log, size);
}

int tcp_sender_commit(struct link *link, enum link_leaving leaving)
{
    struct tcp_link *tcp = sender_of(link);
    bool flush = leaving == LINK_LEAVES_NOW, wake = false;

    add_record(tcp, tcp->own.log.open->bytes + tcp->own.log.open->used, tcp->reserved, 0);
    add_ack(tcp, &tcp->own, TCP_WORD_ACK_LIMIT);
    tcp->commits++;
    if (leaving == LINK_LEAVES_SOON)
        flush = !start_flusher(tcp);
    if (flush)
        gather_guess_flushed(&tcp->guess);
    else if (leaving == LINK_LEAVES_SOON)
        wake = leave_to_flusher(tcp);
    pthread_mutex_unlock(&tcp->own.lock);
    if (wake)
        pthread_cond_signal(&tcp->work);
    return flush ? tcp_send_gathered(tcp, true) : 0;
}

void tcp_sender_cancel(struct link *link)
{
    pthread_mutex_unlock(&sender_of(link)->own.lock);
}

// Adds RECORD and the part of the payload that follows it. Returns 0 or the error of the link.
static int add_bulk(struct tcp_link *tcp, const void *record, uint32_t size, unsigned used,
                    struct iovec payload, struct link_ahead *ahead)
{
    SCOPED_LOCK(&tcp->own.lock);
    void *room = log_room(tcp, size);
    if (!room)
        return link_failure(&tcp->base);
    note_use(tcp);
    memcpy(room, record, size);
    add_record(tcp, room, size, used);
    if (tcp_log_borrow(&tcp->own.log, payload.iov_base, payload.iov_len))
        return link_fail(&tcp->base, -ENOMEM, "no memory for a payload");
    ahead->bytes[0] = tcp->own.log.end;
    add_ack(tcp, &tcp->own, TCP_WORD_ACK_LIMIT);
    tcp->urgent = false;
    tcp->takes++;
    return 0;
}

int tcp_sender_bulk_ahead(struct link *link, const void *record, uint32_t size, const void *payload,
                          size_t length, struct link_ahead *ahead)
{
    struct tcp_link *tcp = sender_of(link);

    SCOPED_LOCK(&tcp->own.sending);
    unsigned used = tcp_extra_use(&tcp->extra, length);
    size_t first = tcp_extra_begin(&tcp->extra, true, used, (void *)payload, length, ahead);
    struct iovec own = {.iov_base = (void *)payload, .iov_len = first};
    int r = add_bulk(tcp, record, size, used, own, ahead);
    if (!r)
        r = tcp_stream_send(&tcp->own, true);
    link_count(&link->sent, length - first);
    if (tcp->opening)
        tcp_opening_moved(tcp->opening, length);
    return r;
}

void tcp_sender_settle(struct link *link, const struct link_ahead *ahead)
{
    tcp_extra_settle(&sender_of(link)->extra, ahead);
    if (ahead->sends)
        tcp_stream_settle(&sender_of(link)->own, ahead->bytes[0]);
}

int tcp_sender_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                    size_t length)
{
    struct link_ahead ahead = {0};
    int r = tcp_sender_bulk_ahead(link, record, size, payload, length, &ahead);

    tcp_sender_settle(link, &ahead);
    return r ? r : link_failure(link);
}

// ---- without waiting ----

static void send_without_waiting(struct tcp_link *tcp)
{
    bool sent = false;

    if (!pthread_mutex_trylock(&tcp->own.sending)) {
        sent = tcp_stream_send(&tcp->own, false) != -EAGAIN;
        pthread_mutex_unlock(&tcp->own.sending);
    }
    if (!sent)
        tcp_sender_soon(tcp);
}

void tcp_sender_acknowledge(struct tcp_link *tcp, struct tcp_stream *stream)
{
    {
        SCOPED_LOCK(&tcp->own.lock);
        if (!log_room(tcp, 0))
            return;
        add_ack(tcp, stream, 1);
    }
    send_without_waiting(tcp);
}

// Another thread may be ended in the middle of anything, so nothing is waited for very long.
static bool lock_soon(pthread_mutex_t *lock)
{
    for (int i = 0; i < GOODBYE_TRIES; i++) {
        if (!pthread_mutex_trylock(lock))
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

void tcp_sender_goodbye(struct tcp_link *tcp)
{
    const uint32_t words[] = {0, TCP_GOODBYE};

    if (!lock_soon(&tcp->own.sending))
        return;
    if (lock_soon(&tcp->own.lock)) {
        void *room = log_room(tcp, 0);
        if (room) {
            memcpy(room, words, sizeof(words));
            tcp_log_add(&tcp->own.log, sizeof(words));
        }
        pthread_mutex_unlock(&tcp->own.lock);
        for (int i = 0; i < GOODBYE_TRIES && tcp_stream_send(&tcp->own, false) == -EAGAIN; i++)
            poll(NULL, 0, 1);
    }
    pthread_mutex_unlock(&tcp->own.sending);
}

void tcp_sender_stop(struct tcp_link *tcp)
{
    if (!tcp->flusher_runs)
        return;
    {
        SCOPED_LOCK(&tcp->own.lock);
        tcp->ending = true;
    }
    pthread_cond_signal(&tcp->work);
    pthread_join(tcp->flusher, NULL);
    tcp->flusher_runs = false;
}
