// SPDX-License-Identifier: BSD-3-Clause
// The tcp link: records over a connected stream socket.
//
// Records collect in a buffer. A sender locks `wire`, takes the buffer and writes it while other
// threads fill a second buffer; so records stay in order and share segments. A thread, created when
// needed, sends records without a flush: at once, or delayed (gather_guess.h). Payloads are written
// from and read to the caller's memory. Parts of large payloads may use extra connections
// (tcp_extra.h), whose number is in the three low bits of the record's size. TLS only replaces the
// two functions that send to and receive from the socket.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "common/security/tls.h"
#include "common/base/wait.h"
#include "transport/link/gather_guess.h"
#include "transport/link/link_private.h"
#include "transport/tcp/tcp_opening.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/tcp/tcp_extra.h"

enum {
    SEND_ROOM = 256 * 1024,
    RECEIVE_ROOM = 256 * 1024,
    // After a payload most likely comes a small record with a payload; bytes read beyond the record
    // would have to be copied.
    READ_AFTER_BULK = 256,
    SPIN_TURNS = 1, // each look is a system call
};

_Static_assert(SEND_ROOM >= 2 * WIRE_RECORD_MAX, "records of any size gather");
_Static_assert(RECEIVE_ROOM >= 2 * WIRE_RECORD_MAX, "a record fits behind another");

struct tcp_link {
    struct link base;
    struct tcp_wire own; // the connection
    int interrupt;       // event file
    struct tcp_extra extra;
    struct tcp_opening *opening; // of extra connections; NULL: none is planned

    pthread_mutex_t wire; // for sending on the socket; taken before lock
    uint8_t *leaving;     // under wire

    pthread_mutex_t lock; // held from reserve to commit
    uint8_t *gathering;   // this and the following under lock
    size_t gathered;
    uint32_t reserved;
    bool flusher_runs;
    bool flusher_sleeps; // wake it for a record that must not wait
    bool flusher_rests;  // and for held records too, so that it checks them now and then
    bool urgent;         // gathered records are not held
    struct gather_guess guess;
    uint64_t commits, takes; // how often a record was added, and all were taken
    bool ending;
    pthread_cond_t work;
    pthread_t flusher;

    uint8_t *buffer; // the receiver's
    size_t start, end;
    size_t read_size;
    unsigned used; // extra connections that have parts of the payload of the last record
    struct spin_habit habit;
    _Atomic bool whole; // a whole record is in buffer
    _Atomic bool receiver_sleeps;
    _Atomic bool interrupted;
};

static struct tcp_link *tcp_of(struct link *link)
{
    return (struct tcp_link *)link;
}

// ---- sending ----

static struct iovec take_gathered(struct tcp_link *tcp)
{
    SCOPED_LOCK(&tcp->lock);
    struct iovec part = {.iov_base = tcp->gathering, .iov_len = tcp->gathered};

    tcp->gathering = tcp->leaving;
    tcp->leaving = part.iov_base;
    tcp->gathered = 0;
    tcp->urgent = false;
    tcp->takes++;
    return part;
}

// Sends the gathered records and two parts more. The caller holds `wire`.
static int tcp_drain(struct tcp_link *tcp, struct iovec record, struct iovec payload)
{
    struct iovec parts[3] = {[0] = take_gathered(tcp), [1] = record, [2] = payload};

    uint64_t bytes = parts[0].iov_len + record.iov_len + payload.iov_len;
    int r = tcp_wire_send_all(&tcp->base, &tcp->own, parts, 3);

    if (!r)
        link_count(&tcp->base.sent, bytes);
    return r;
}

static int tcp_send_gathered(struct tcp_link *tcp)
{
    struct iovec none = {0};

    SCOPED_LOCK(&tcp->wire);
    return tcp_drain(tcp, none, none);
}

static int tcp_flush(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    {
        SCOPED_LOCK(&tcp->lock);
        gather_guess_flushed(&tcp->guess);
    }
    return tcp_send_gathered(tcp);
}

// Under lock, which is given up meanwhile.
static int send_urgent(struct tcp_link *tcp)
{
    pthread_mutex_unlock(&tcp->lock);
    int r = link_failure(&tcp->base);
    if (!r)
        r = tcp_send_gathered(tcp);
    pthread_mutex_lock(&tcp->lock);
    return r;
}

// Waits for a tick, or until something is urgent. Records that were held for the whole tick become
// urgent. Returns true if new records were committed.
static bool look_after_kept(struct tcp_link *tcp)
{
    uint64_t commits = tcp->commits, takes = tcp->takes;
    bool kept = tcp->gathered > 0;

    tcp->flusher_sleeps = true;
    clock_wait(&tcp->work, &tcp->lock, tcp->guess.tick_us);
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

    pthread_mutex_lock(&tcp->lock);
    while (!tcp->ending && !r) {
        if (tcp->gathered && tcp->urgent) {
            r = send_urgent(tcp);
        } else if (tcp->gathered || !idle) {
            idle = !look_after_kept(tcp);
        } else {
            tcp->flusher_sleeps = tcp->flusher_rests = true;
            pthread_cond_wait(&tcp->work, &tcp->lock);
            tcp->flusher_sleeps = tcp->flusher_rests = false;
        }
    }
    pthread_mutex_unlock(&tcp->lock);
    return NULL;
}

// Under lock.
static bool start_flusher(struct tcp_link *tcp)
{
    tcp->flusher_runs = link_thread_start(&tcp->flusher, "rgpu-send", "sending", flusher_main, tcp);
    return tcp->flusher_runs;
}

static void *tcp_reserve(struct link *link, uint32_t size)
{
    struct tcp_link *tcp = tcp_of(link);

    pthread_mutex_lock(&tcp->lock);
    while (tcp->gathered + size > SEND_ROOM) {
        uint64_t start = clock_ns();
        pthread_mutex_unlock(&tcp->lock);
        if (link_failure(link) || tcp_send_gathered(tcp))
            return NULL;
        pthread_mutex_lock(&tcp->lock);
        link_count(&link->waited, clock_ns() - start);
    }
    tcp->reserved = size;
    return tcp->gathering + tcp->gathered;
}

// Returns true if the flusher must be woken for an added record that leaves by itself. Under lock.
static bool leave_to_flusher(struct tcp_link *tcp)
{
    bool keep = gather_guess_waits(&tcp->guess) && tcp->gathered < GATHER_BYTES;

    tcp->urgent = tcp->urgent || !keep;
    bool wake = tcp->urgent ? tcp->flusher_sleeps : tcp->flusher_rests;
    if (wake)
        tcp->flusher_sleeps = tcp->flusher_rests = false; // the next record need not wake it again
    return wake;
}

static int tcp_commit(struct link *link, enum link_leaving leaving)
{
    struct tcp_link *tcp = tcp_of(link);
    bool flush = leaving == LINK_LEAVES_NOW, wake = false;

    memcpy(tcp->gathering + tcp->gathered, &tcp->reserved, sizeof(tcp->reserved));
    tcp->gathered += tcp->reserved;
    tcp->commits++;
    if (leaving == LINK_LEAVES_SOON && !tcp->flusher_runs)
        flush = !start_flusher(tcp);
    if (flush)
        gather_guess_flushed(&tcp->guess);
    else if (leaving == LINK_LEAVES_SOON)
        wake = leave_to_flusher(tcp);
    pthread_mutex_unlock(&tcp->lock);
    if (wake)
        pthread_cond_signal(&tcp->work);
    return flush ? tcp_send_gathered(tcp) : 0;
}

static void tcp_cancel(struct link *link)
{
    pthread_mutex_unlock(&tcp_of(link)->lock);
}

static int tcp_send_ahead(struct link *link, const void *record, uint32_t size, const void *payload,
                          size_t length, struct link_ahead *ahead)
{
    struct tcp_link *tcp = tcp_of(link);
    uint32_t copy[512];
    SCOPED_FREE uint8_t *longer = size > sizeof(copy) ? malloc(size) : NULL;
    uint8_t *sized = longer ? longer : (uint8_t *)copy;

    if (size > sizeof(copy) && !longer)
        return -ENOMEM;
    // The size goes into a copy, the caller's record may be constant.
    memcpy(sized, record, size);
    SCOPED_LOCK(&tcp->wire);
    unsigned used = tcp_extra_use(&tcp->extra, length);
    uint32_t marked = size | used;
    memcpy(sized, &marked, sizeof(marked));
    size_t first = tcp_extra_begin(&tcp->extra, true, used, (void *)payload, length, ahead);
    int r = tcp_drain(tcp, (struct iovec){.iov_base = sized, .iov_len = size},
                      (struct iovec){.iov_base = (void *)payload, .iov_len = first});
    link_count(&link->sent, length - first);
    if (tcp->opening)
        tcp_opening_moved(tcp->opening, length);
    return r;
}

static void tcp_settle(struct link *link, const struct link_ahead *ahead)
{
    tcp_extra_settle(&tcp_of(link)->extra, ahead);
}

static int tcp_send_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                         size_t length)
{
    struct link_ahead ahead = {0};
    int r = tcp_send_ahead(link, record, size, payload, length, &ahead);

    tcp_settle(link, &ahead);
    return r ? r : link_failure(link);
}

// ---- receiving ----

// Takes the result of a read: bytes, 0: nothing yet, or -errno.
static ssize_t take_read(struct tcp_link *tcp, ssize_t n)
{
    if (n > 0) {
        link_count(&tcp->base.received, (uint64_t)n);
        return n;
    }
    if (n == -EAGAIN)
        return link_failure(&tcp->base);
    return tcp_wire_failed(&tcp->base, &tcp->own, (int)n, "receiving");
}

// Reads the available bytes.
static ssize_t read_some(struct tcp_link *tcp, void *to, size_t room)
{
    return take_read(tcp, tcp_wire_receive(&tcp->own, to, room));
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
            r = tcp_socket_wait(tcp->own.fd, POLLIN, tcp->interrupt, deadline);
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
    return r < 0 ? tcp_wire_failed(&tcp->base, &tcp->own, r, "receiving") : r > 0;
}

// False: spinning was in vain.
static bool tcp_spin_for_bytes(struct tcp_link *tcp, void *to, size_t room, bool interruptible,
                               ssize_t *n)
{
    struct spin spin = {.us = tcp->base.spin_us};

    while (spin_more(&spin, SPIN_TURNS)) {
        *n = read_some(tcp, to, room);
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
    bool plain = !interruptible && timeout_ms < 0 && !tcp->own.tls;
    uint64_t deadline;
    ssize_t n = 0;

    // A thread that will not spin need not look either, if the call that looks can wait.
    if (!plain || !tcp->habit.skip)
        n = read_some(tcp, to, room);
    if (n || timeout_ms == 0 || (interruptible && tcp_take_interrupt(tcp)))
        return n;
    if (spin_is_due(&tcp->habit) && tcp_spin_for_bytes(tcp, to, room, interruptible, &n))
        return n;
    if (plain && (n = take_read(tcp, tcp_wire_receive_soon(&tcp->own, to, room))))
        return n;
    // Longer waits are watched over.
    for (deadline = deadline_in(timeout_ms);;) {
        int r = tcp_sleep_for_bytes(tcp, interruptible, deadline);
        if (r <= 0)
            return r;
        n = read_some(tcp, to, room);
        if (n)
            return n;
    }
}

// Returns the size of the record at the start of BUFFER, and the number of extra connections that
// have parts of its payload.
static bool look_at_size(const struct tcp_link *tcp, uint32_t *size, unsigned *used)
{
    if (tcp->end - tcp->start < sizeof(*size))
        return false;
    memcpy(size, tcp->buffer + tcp->start, sizeof(*size));
    *used = *size & LINK_EXTRA_MAX;
    *size -= *used;
    return true;
}

// Returns the size of the next record once it is known; 0 before, or -EPROTO.
static int next_size(struct tcp_link *tcp)
{
    uint32_t size;

    if (!look_at_size(tcp, &size, &tcp->used))
        return 0;
    if (!link_record_size_valid(size) || !tcp_extra_await(&tcp->extra, tcp->used))
        return link_fail(&tcp->base, -EPROTO,
                         "the peer broke the protocol: record of %u bytes, %u extra connections",
                         size, tcp->used);
    return (int)size;
}

static void note_whole(struct tcp_link *tcp)
{
    uint32_t size;
    unsigned used;
    bool whole = look_at_size(tcp, &size, &used) &&
                 (size <= tcp->end - tcp->start || !link_record_size_valid(size));

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

static int tcp_receive(struct link *link, void *buffer, size_t room, int timeout_ms)
{
    struct tcp_link *tcp = tcp_of(link);

    for (;;) {
        int size = next_size(tcp);
        if (size < 0)
            return size;
        if (size && (size_t)size <= tcp->end - tcp->start) {
            if ((size_t)size > room)
                return link_fail(link, -EPROTO, "the peer broke the protocol: record of %d bytes",
                                 size);
            memcpy(buffer, tcp->buffer + tcp->start, (size_t)size);
            memcpy(buffer, &(uint32_t){(uint32_t)size}, sizeof(uint32_t));
            tcp->start += (size_t)size;
            note_whole(tcp);
            return size;
        }
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

    tcp_settle(link, &ahead);
    return r ? r : link_failure(link);
}

static const struct link_advance tcp_advance = {
    .send = tcp_send_ahead,
    .receive = tcp_receive_ahead,
    .settle = tcp_settle,
};

static bool tcp_pending(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);
    struct pollfd readable = {.fd = tcp->own.fd, .events = POLLIN};

    return atomic_load_explicit(&tcp->whole, memory_order_relaxed) || poll(&readable, 1, 0) > 0 ||
           (tcp->own.tls && tls_pending(tcp->own.tls));
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

    shutdown(tcp->own.fd, SHUT_RDWR);
    tcp_extra_wake(&tcp->extra);
    ring_interrupt(tcp);
}

static void tcp_close(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    if (tcp->own.fd >= 0)
        close(tcp->own.fd);
    if (tcp->interrupt >= 0)
        close(tcp->interrupt);
    tcp->own.fd = tcp->interrupt = -1;
    tcp->flusher_runs = false; // a forked child has no such thread
    tcp_extra_close(&tcp->extra);
    if (tcp->opening)
        tcp_opening_abandon(tcp->opening);
}

static void tcp_free(struct link *link)
{
    struct tcp_link *tcp = tcp_of(link);

    if (tcp->flusher_runs) {
        {
            SCOPED_LOCK(&tcp->lock);
            tcp->ending = true;
        }
        pthread_cond_signal(&tcp->work);
        pthread_join(tcp->flusher, NULL);
    }
    if (tcp->opening)
        tcp_opening_free(&tcp->opening);
    tcp_extra_free(&tcp->extra);
    tcp_close(link);
    tls_discard(&tcp->own.tls);
    // Locks and the condition hold nothing to give back, and in a forked child destroying them
    // could wait for threads that are not there.
    free(tcp->gathering);
    free(tcp->leaving);
    free(tcp->buffer);
    free(tcp);
}

static const struct link_ops tcp_ops = {
    .memory = LINK_MEMORY_APART,
    .reserve = tcp_reserve,
    .commit = tcp_commit,
    .cancel = tcp_cancel,
    .flush = tcp_flush,
    .send_bulk = tcp_send_bulk,
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
    pthread_mutexattr_t adaptive;
    int r = -ENOMEM;

    if (!tcp)
        return -ENOMEM;
    link_init(&tcp->base, &tcp_ops, "tcp", options);
    tcp->own.fd = -1;
    tcp_extra_init(&tcp->extra, &tcp->base);
    tcp->interrupt = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // Cleared, so that bytes that the caller does not write disclose no memory of this process to
    // the peer.
    tcp->leaving = calloc(1, SEND_ROOM);
    tcp->gathering = calloc(1, SEND_ROOM);
    tcp->buffer = malloc(RECEIVE_ROOM);
    tcp->read_size = RECEIVE_ROOM;
    pthread_mutexattr_init(&adaptive);
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&tcp->lock, &adaptive);
    pthread_mutexattr_destroy(&adaptive);
    pthread_mutex_init(&tcp->wire, NULL);
    pthread_cond_init(&tcp->work, NULL);
    gather_guess_start(&tcp->guess);
    if (tcp->interrupt < 0)
        r = -errno;
    if (tcp->interrupt < 0 || !tcp->leaving || !tcp->gathering || !tcp->buffer) {
        tcp_free(&tcp->base);
        return r;
    }
    tcp_socket_prepare(fd);
    if (!tls)
        tcp_socket_let_wait(fd);
    tcp->own.fd = fd;
    tcp->own.tls = tls;
    if (tls)
        tls_read_ahead(tls);
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
