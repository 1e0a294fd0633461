// SPDX-License-Identifier: BSD-3-Clause
// Records travel through rings that the peer's device writes to. A waiting thread polls the
// completion queue for a while, then sleeps until the device raises an event, the control
// connection closes, or the peer disconnects.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/rdma/rdma_private.h"
#include "transport/tcp/tcp_reconnect.h"
#include "common/base/wait.h"

enum {
    SPIN_TURNS = 4,
    BULK_PIECE = 128 * 1024, // of a payload, sent at once
    DRAIN_MS = 1000,         // for the last records to arrive before the queue pair goes
};

// ---- sending ----

static uint64_t free_room(const struct rdma_link *rdma)
{
    uint64_t used = atomic_load_explicit(&rdma->produced, memory_order_relaxed) -
                    atomic_load_explicit(&rdma->acknowledged, memory_order_acquire);

    return used <= RDMA_RING_SIZE ? RDMA_RING_SIZE - used : UINT64_MAX;
}

// Returns 1 if NEED bytes fit and a message can go (NEED 0: if all gathered data have gone), 0 if
// not, or -errno.
static int may_send(struct rdma_link *rdma, uint64_t need)
{
    uint64_t room = free_room(rdma);

    if (room == UINT64_MAX)
        return link_fail(&rdma->base, -EPROTO, "the peer broke the protocol: credit");
    if (link_failure(&rdma->base))
        return link_failure(&rdma->base);
    if (!need)
        return atomic_load(&rdma->left) == atomic_load(&rdma->produced);
    return room >= need && rdma_may_post(rdma);
}

// The peer can free space only after the gathered data has been sent.
static int try_to_send(struct rdma_link *rdma, uint64_t need)
{
    rdma_post_gathered(rdma);
    return may_send(rdma, need);
}

// Under send_lock.
static int wait_until_sent(struct rdma_link *rdma, uint64_t need)
{
    struct spin spin = {.us = rdma->base.spin_us};
    int r, slept = 0;

    do {
        rdma_progress(rdma, RDMA_SENDER);
        r = try_to_send(rdma, need);
        if (r)
            return r < 0 ? r : 0;
    } while (spin_more(&spin, SPIN_TURNS));
    atomic_store(&rdma->sender_sleeps, true);
    for (;;) {
        rdma_arm(rdma, true);
        rdma_progress_armed(rdma, RDMA_SENDER);
        r = try_to_send(rdma, need);
        if (!r && slept)
            r = rdma_gone(rdma);
        if (r)
            break;
        slept = rdma_sleep(rdma, RDMA_SENDER, UINT64_MAX);
        if (slept && slept != -EPIPE) {
            r = link_fail(&rdma->base, slept, "cannot wait: %s", strerror(-slept));
            break;
        }
    }
    atomic_store(&rdma->sender_sleeps, false);
    return r < 0 ? r : 0;
}

// Under send_lock.
static int wait_to_send(struct rdma_link *rdma, uint64_t need)
{
    uint64_t start = clock_ns();
    int r = wait_until_sent(rdma, need);

    link_count(&rdma->base.waited, clock_ns() - start);
    return r;
}

static uint8_t *ring_end(const struct rdma_link *rdma)
{
    return rdma->end.out +
           (atomic_load_explicit(&rdma->produced, memory_order_relaxed) & (RDMA_RING_SIZE - 1));
}

static void *rdma_reserve(struct link *link, uint32_t size)
{
    struct rdma_link *rdma = rdma_of(link);

    pthread_mutex_lock(&rdma->send_lock);
    if ((may_send(rdma, size) != 1 && wait_to_send(rdma, size)) || link_failure(link)) {
        pthread_mutex_unlock(&rdma->send_lock);
        return NULL;
    }
    rdma->reserved = size;
    return ring_end(rdma);
}

// Counts SIZE bytes that stand in the ring as committed.
static void add_bytes(struct rdma_link *rdma, uint64_t size)
{
    uint64_t produced = atomic_load_explicit(&rdma->produced, memory_order_relaxed);

    atomic_store(&rdma->produced, produced + size);
}

// Credit messages may have taken the free space.
static int rdma_send_gathered(struct rdma_link *rdma)
{
    int r = rdma_post_gathered(rdma);

    return r == -EAGAIN ? wait_to_send(rdma, 0) : r;
}

static int rdma_commit(struct link *link, enum link_leaving leaving)
{
    struct rdma_link *rdma = rdma_of(link);
    int r = link_failure(link);

    memcpy(ring_end(rdma), &rdma->reserved, sizeof(rdma->reserved));
    if (!r) {
        add_bytes(rdma, rdma->reserved);
        if (leaving == LINK_LEAVES_NOW)
            rdma_gather_flushed(rdma);
        if (leaving == LINK_LEAVES_NOW || (leaving == LINK_LEAVES_SOON && !rdma_gather_waits(rdma)))
            r = rdma_send_gathered(rdma);
    }
    pthread_mutex_unlock(&rdma->send_lock);
    return r;
}

static void rdma_cancel(struct link *link)
{
    pthread_mutex_unlock(&rdma_of(link)->send_lock);
}

static int rdma_flush(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    if (atomic_load(&rdma->left) == atomic_load(&rdma->produced))
        return 0;
    SCOPED_LOCK(&rdma->send_lock);
    rdma_gather_flushed(rdma);
    return rdma_send_gathered(rdma);
}

// The payload goes through the ring too, padded to a multiple of 8; its first piece together with
// the gathered records.
static int rdma_send_payload(struct rdma_link *rdma, const uint8_t *payload, size_t length)
{
    int r = 0;

    while (length && !r) {
        uint64_t piece = length < BULK_PIECE ? length : BULK_PIECE;
        uint64_t padded = (piece + 7) & ~UINT64_C(7);
        r = may_send(rdma, padded) == 1 ? 0 : wait_to_send(rdma, padded);
        if (r)
            break;
        memcpy(ring_end(rdma), payload, piece);
        add_bytes(rdma, padded);
        r = rdma_send_gathered(rdma);
        payload += piece;
        length -= piece;
    }
    return r;
}

static int rdma_send_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                          size_t length)
{
    struct rdma_link *rdma = rdma_of(link);
    void *room = rdma_reserve(link, size);

    if (!room)
        return link_failure(link);
    memcpy(room, record, size);
    memcpy(room, &size, sizeof(size));
    add_bytes(rdma, size);
    int r = length ? rdma_send_payload(rdma, payload, length) : rdma_send_gathered(rdma);
    pthread_mutex_unlock(&rdma->send_lock);
    return r;
}

// ---- receiving ----

static uint64_t available(const struct rdma_link *rdma)
{
    return atomic_load_explicit(&rdma->arrived, memory_order_acquire) -
           atomic_load_explicit(&rdma->consumed, memory_order_relaxed);
}

static const uint8_t *rdma_ring_bytes(const struct rdma_link *rdma)
{
    return rdma->end.in +
           (atomic_load_explicit(&rdma->consumed, memory_order_relaxed) & (RDMA_RING_SIZE - 1));
}

static bool rdma_look(struct rdma_link *rdma, enum rdma_waiter who)
{
    if (!available(rdma))
        rdma_progress(rdma, who);
    return available(rdma) > 0;
}

static bool rdma_take_interrupt(struct rdma_link *rdma)
{
    return atomic_load_explicit(&rdma->interrupted, memory_order_relaxed) &&
           atomic_exchange(&rdma->interrupted, false);
}

static int rdma_sleep_for_bytes(struct rdma_link *rdma, bool interruptible, uint64_t deadline)
{
    int r, slept = 0;

    atomic_store(&rdma->receiver_sleeps, true);
    for (bool woken = false;; woken = true) {
        // Data that the peer sent before it ended are still received.
        r = woken && rdma_look(rdma, RDMA_RECEIVER);
        if (!r) {
            rdma_arm(rdma, atomic_load(&rdma->sender_sleeps));
            rdma_progress_armed(rdma, RDMA_RECEIVER);
            r = available(rdma) > 0;
        }
        if (!r && slept == -EPIPE)
            r = rdma_gone(rdma);
        if (!r)
            r = link_failure(&rdma->base);
        if (r || slept == -ETIMEDOUT || (interruptible && rdma_take_interrupt(rdma)))
            break;
        slept = rdma_sleep(rdma, RDMA_RECEIVER, deadline);
        if (slept && slept != -EPIPE && slept != -ETIMEDOUT) {
            r = link_fail(&rdma->base, slept, "cannot wait: %s", strerror(-slept));
            break;
        }
    }
    atomic_store_explicit(&rdma->receiver_sleeps, false, memory_order_relaxed);
    return r;
}

// Two sides that sleep wait long because each wakes late, and so never learn how fast an answer
// reaches a thread that is awake. So now and then one stays awake all the same.
enum { TRIAL_EVERY = 16, TRIAL_US = 4000 };
static bool is_trial(struct rdma_link *rdma)
{
    return rdma->base.spin_us && wait_estimate_is_long(&rdma->estimate) &&
           ++rdma->long_waits % TRIAL_EVERY == 0;
}

// Longer spinning lets other threads run: the peer may be waiting for this processor.
enum { SPUN_IN_VAIN = 2 };
static int rdma_spin_for_bytes(struct rdma_link *rdma, bool interruptible, uint64_t start,
                               uint64_t most)
{
    uint64_t least = start + (uint64_t)rdma->base.spin_us * 1000;
    uint64_t end = start + most, now = start;

    for (unsigned turn = 1; now < end; turn++) {
        cpu_relax();
        if (rdma_look(rdma, RDMA_RECEIVER))
            return 1;
        if (link_failure(&rdma->base))
            return link_failure(&rdma->base);
        if (interruptible && rdma_take_interrupt(rdma))
            return 0;
        if (turn % SPIN_TURNS)
            continue;
        now = clock_ns();
        if (now >= least)
            sched_yield();
    }
    return SPUN_IN_VAIN;
}

// Waits for bytes of the peer. Returns 1 if there are some, 0 after the timeout or a wake-up, or
// -errno.
static int rdma_wait_for_bytes(struct rdma_link *rdma, bool interruptible, int timeout_ms)
{
    uint64_t start;
    int r;

    if (rdma_look(rdma, RDMA_RECEIVER))
        return 1;
    if (timeout_ms == 0)
        return link_failure(&rdma->base);
    start = clock_ns();
    bool trial = is_trial(rdma);
    r = rdma_spin_for_bytes(rdma, interruptible, start,
                            trial ? TRIAL_US * 1000
                                  : wait_estimate_spin_ns(&rdma->estimate, rdma->base.spin_us));
    bool slept = r == SPUN_IN_VAIN;
    if (slept)
        r = rdma_sleep_for_bytes(rdma, interruptible, deadline_from(start, timeout_ms));
    if (r > 0 && trial && !slept)
        wait_estimate_update(&rdma->estimate, clock_ns() - start);
    else if (r > 0)
        wait_estimate_add(&rdma->estimate, clock_ns() - start);
    return r;
}

static void rdma_consume(struct rdma_link *rdma, uint64_t size)
{
    uint64_t consumed = atomic_load_explicit(&rdma->consumed, memory_order_relaxed) + size;

    atomic_store(&rdma->consumed, consumed);
    atomic_fetch_add_explicit(&rdma->base.received, size, memory_order_relaxed);
    if (consumed - atomic_load_explicit(&rdma->bytes_reported, memory_order_relaxed) >=
        RDMA_RING_SIZE / 2)
        rdma_return_credit(rdma);
}

static int rdma_receive(struct link *link, void *buffer, size_t room, int timeout_ms)
{
    struct rdma_link *rdma = rdma_of(link);
    uint32_t size;

    if (!available(rdma)) {
        int r = rdma_wait_for_bytes(rdma, true, timeout_ms);
        if (r <= 0)
            return r;
    }
    // The peer's device could write here at any time: the size is read once, and the copy is
    // what gets checked.
    size = *(const volatile uint32_t *)rdma_ring_bytes(rdma);
    if (!link_record_size_valid(size) || size > available(rdma) || size > room)
        return link_fail(link, -EPROTO, "the peer broke the protocol: record of %u bytes", size);
    memcpy(buffer, rdma_ring_bytes(rdma), size);
    memcpy(buffer, &size, sizeof(size));
    rdma_consume(rdma, size);
    return (int)size;
}

static int rdma_receive_bulk(struct link *link, void *payload, size_t length)
{
    struct rdma_link *rdma = rdma_of(link);
    uint8_t *to = payload;

    while (length) {
        uint64_t piece = available(rdma);
        if (!piece) {
            int r = rdma_wait_for_bytes(rdma, false, -1);
            if (r < 0)
                return r;
            continue;
        }
        if (piece > length)
            piece = length;
        memcpy(to, rdma_ring_bytes(rdma), piece);
        rdma_consume(rdma, (piece + 7) & ~UINT64_C(7));
        to += piece;
        length -= piece;
    }
    return 0;
}

static bool rdma_pending(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    if (rdma_look(rdma, RDMA_NOBODY))
        return true;
    // The peer's end takes a system call to see, so only once per clock tick.
    int64_t tick = (int64_t)clock_coarse_ns();
    if (atomic_exchange_explicit(&rdma->looked, tick, memory_order_relaxed) == tick)
        return false;
    return rdma_peer_has_ended(rdma) || available(rdma);
}

static void rdma_interrupt(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    atomic_store(&rdma->interrupted, true);
    if (atomic_load(&rdma->receiver_sleeps))
        rdma_ring_event(rdma->interrupt);
}

static const struct link_staging *rdma_staging(const struct link *link)
{
    const struct rdma_link *rdma = (const struct rdma_link *)link;

    return rdma->end.owns_staging ? &rdma->end.staging : NULL;
}

// ---- ends ----

void rdma_wake_waiters(struct rdma_link *rdma)
{
    rdma_ring_event(rdma->interrupt);
    rdma_ring_event(rdma->space);
    rdma_ring_event(rdma->nudge);
}

static void rdma_wake_all(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    {
        SCOPED_LOCK(&rdma->pairs_lock);
        rdma_end_disconnect(&rdma->end);
    }
    if (rdma->control.survives)
        tcp_stream_wake(&rdma->control);
    rdma_wake_waiters(rdma);
}

static int rdma_make_events(struct rdma_link *rdma)
{
    int *events[] = {&rdma->interrupt, &rdma->space, &rdma->nudge};
    int r = 0;

    for (int i = 0; i < 3; i++) {
        *events[i] = descriptor_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (*events[i] < 0)
            r = -errno;
    }
    return r;
}

static void close_events(const struct rdma_link *rdma)
{
    const int events[] = {rdma->interrupt, rdma->space, rdma->nudge};

    for (int i = 0; i < 3; i++)
        if (events[i] >= 0)
            close(events[i]);
}

// In the child of a fork: the queue pairs live in the kernel and are the parent's. Only descriptors
// of our own making are closed; librdmacm's are closed by exec.
static void rdma_close(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    rdma->abandoned = true;
    close(rdma->end.events->fd);
    for (int channel = 0; channel < RDMA_CHANNELS; channel++)
        close(rdma->end.completions[channel]->fd);
    close_events(rdma);
    rdma_control_abandon(rdma);
}

// Until the peer's device has answered the last message; its records would be lost with the queue.
static void rdma_drain(struct rdma_link *rdma)
{
    uint64_t deadline = deadline_in(DRAIN_MS);

    while (!link_failure(&rdma->base) && !rdma_peer_has_ended(rdma) && !rdma_is_lost(rdma) &&
           atomic_load(&rdma->completed) < rdma->posted && deadline_left(deadline)) {
        rdma_post_keepalive(rdma);
        rdma_arm(rdma, true);
        rdma_progress_armed(rdma, RDMA_NOBODY);
        if (atomic_load(&rdma->completed) < rdma->posted)
            rdma_sleep(rdma, RDMA_NOBODY, deadline_in(20));
    }
}

static void rdma_free(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    if (!rdma->abandoned) {
        tcp_reconnect_end(&rdma->base);
        rdma_gather_stop(rdma);
        rdma_drain(rdma);
        if (!link_failure(link))
            rdma_end_disconnect(&rdma->end);
        rdma_regions_free(rdma);
        rdma_end_close(&rdma->end);
        close_events(rdma);
        // In a forked child they may be held by threads that it does not have.
        pthread_mutex_destroy(&rdma->send_lock);
        pthread_mutex_destroy(&rdma->post_lock);
        pthread_mutex_destroy(&rdma->poll_lock);
        pthread_mutex_destroy(&rdma->region_lock);
        pthread_mutex_destroy(&rdma->pairs_lock);
        pthread_mutex_destroy(&rdma->bulk_lock);
    }
    rdma_control_free(rdma);
    free(rdma);
}

static const struct link_reaching rdma_reaching = {
    .expose = rdma_expose,
    .conceal = rdma_conceal,
    .register_local = rdma_register_local,
    .local_key = rdma_local_key,
    .unregister_local = rdma_unregister_local,
    .transfer_start = rdma_transfer_start,
    .transfer_poll = rdma_transfer_poll,
    .transfer_wait = rdma_transfer_wait,
    .transfer_wake = rdma_transfer_wake,
};

static const struct link_ops rdma_ops = {
    .memory = LINK_MEMORY_REACHED,
    .reserve = rdma_reserve,
    .commit = rdma_commit,
    .cancel = rdma_cancel,
    .flush = rdma_flush,
    .send_bulk = rdma_send_bulk,
    .receive = rdma_receive,
    .receive_bulk = rdma_receive_bulk,
    .advance = &link_at_once,
    .pending = rdma_pending,
    .interrupt = rdma_interrupt,
    .staging = rdma_staging,
    .window = link_no_window,
    .sharing = &link_shares_nothing,
    .reaching = &rdma_reaching,
    .wake_all = rdma_wake_all,
    .close = rdma_close,
    .free = rdma_free,
};

int rdma_link_new(struct rdma_end *end, int watch, uint64_t peer_ring, uint32_t peer_key,
                  const struct link_options *options, struct link **out)
{
    struct rdma_link *rdma = calloc(1, sizeof(*rdma));

    if (!rdma)
        return -ENOMEM;
    int r = rdma_make_events(rdma);
    if (r) {
        close_events(rdma);
        free(rdma);
        return r;
    }
    link_init(&rdma->base, &rdma_ops, "rdma", options);
    rdma->end = *end;
    memset(end, 0, sizeof(*end));
    rdma_regions_limit(rdma);
    rdma->watch = watch;
    rdma->peer_ring = peer_ring;
    rdma->peer_key = peer_key;
    rdma->keepalive_ms = rdma->end.dead_ms / 3;
    pthread_mutex_init(&rdma->send_lock, NULL);
    pthread_mutex_init(&rdma->post_lock, NULL);
    pthread_mutex_init(&rdma->poll_lock, NULL);
    pthread_mutex_init(&rdma->region_lock, NULL);
    pthread_mutex_init(&rdma->pairs_lock, NULL);
    pthread_mutex_init(&rdma->bulk_lock, NULL);
    tcp_stream_init(&rdma->control, &rdma->base, 0);
    rdma_gather_start(rdma);
    *out = &rdma->base;
    return 0;
}
