// The rdma link: records through rings that the peer's device writes into. What has to wait spins
// on the completion queue for a while, then sleeps until the device raises an event, the control
// connection ends or the peer has disconnected.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/log.h"
#include "transport/rdma_private.h"
#include "transport/spin.h"

enum {
    SPIN_TURNS = 4,
    BULK_PIECE = 128 * 1024, // of a payload, sent at once
    DRAIN_MS = 1000,         // for the last records to arrive before the queue pair goes
};

// ---- sending ----

static uint64_t free_room(const struct rdma_link *rdma)
{
    uint64_t used =
        rdma->produced - atomic_load_explicit(&rdma->acknowledged, memory_order_acquire);

    return used <= RDMA_RING_SIZE ? RDMA_RING_SIZE - used : UINT64_MAX;
}

// Whether NEED bytes fit and a message can go. 1, 0, or -errno.
static int may_send(struct rdma_link *rdma, uint64_t need)
{
    uint64_t room = free_room(rdma);

    if (room == UINT64_MAX)
        return link_fail(&rdma->base, -EPROTO, "the peer broke the protocol: credit");
    if (link_failure(&rdma->base))
        return link_failure(&rdma->base);
    return room >= need && rdma_may_post(rdma);
}

// Under send_lock.
static int wait_to_send(struct rdma_link *rdma, uint64_t need)
{
    struct spin spin = {.us = rdma->base.spin_us};
    int r, slept = 0;

    do {
        rdma_progress(rdma);
        r = may_send(rdma, need);
        if (r)
            return r < 0 ? r : 0;
    } while (spin_more(&spin, SPIN_TURNS));
    atomic_store(&rdma->sender_sleeps, true);
    for (;;) {
        rdma_arm(rdma, true);
        rdma_progress(rdma);
        r = may_send(rdma, need);
        if (!r && slept)
            r = rdma_gone(rdma);
        if (r)
            break;
        slept = rdma_sleep(rdma, rdma->space, true, UINT64_MAX);
        if (slept && slept != -EPIPE) {
            r = link_fail(&rdma->base, slept, "cannot wait: %s", strerror(-slept));
            break;
        }
    }
    atomic_store(&rdma->sender_sleeps, false);
    return r < 0 ? r : 0;
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
    return rdma->end.out + (rdma->produced & (RDMA_RING_SIZE - 1));
}

// Sends SIZE bytes that stand in the ring. Credit messages may have taken what room there was.
static int send_bytes(struct rdma_link *rdma, uint32_t size)
{
    uint64_t from = rdma->produced;
    int r;

    rdma->produced += size;
    while ((r = rdma_post_bytes(rdma, from)) == -EAGAIN) {
        r = wait_to_send(rdma, 0);
        if (r)
            return r;
    }
    if (!r)
        atomic_fetch_add_explicit(&rdma->base.sent, size, memory_order_relaxed);
    return r;
}

static int rdma_commit(struct link *link, bool flush)
{
    struct rdma_link *rdma = rdma_of(link);
    uint8_t *record = rdma->end.out + (rdma->produced & (RDMA_RING_SIZE - 1));

    (void)flush; // a posted record leaves
    memcpy(record, &rdma->reserved, sizeof(rdma->reserved));
    int r = link_failure(link) ? link_failure(link) : send_bytes(rdma, rdma->reserved);
    pthread_mutex_unlock(&rdma->send_lock);
    return r;
}

static void rdma_cancel(struct link *link)
{
    pthread_mutex_unlock(&rdma_of(link)->send_lock);
}

static int rdma_flush(struct link *link)
{
    return 0;
}

// The payload goes through the ring too, padded to a multiple of 8.
static int send_payload(struct rdma_link *rdma, const uint8_t *payload, size_t length)
{
    while (length) {
        uint64_t piece = length < BULK_PIECE ? length : BULK_PIECE;
        uint64_t padded = (piece + 7) & ~UINT64_C(7);
        int r = may_send(rdma, padded) == 1 ? 0 : wait_to_send(rdma, padded);
        if (r)
            return r;
        memcpy(rdma->end.out + (rdma->produced & (RDMA_RING_SIZE - 1)), payload, piece);
        r = send_bytes(rdma, (uint32_t)padded);
        if (r)
            return r;
        payload += piece;
        length -= piece;
    }
    return 0;
}

static int rdma_send_bulk(struct link *link, const void *record, uint32_t size,
                          const void *payload, size_t length)
{
    struct rdma_link *rdma = rdma_of(link);
    void *room = rdma_reserve(link, size);

    if (!room)
        return link_failure(link);
    memcpy(room, record, size);
    memcpy(room, &size, sizeof(size));
    int r = send_bytes(rdma, size);
    if (!r)
        r = send_payload(rdma, payload, length);
    pthread_mutex_unlock(&rdma->send_lock);
    return r;
}

// ---- receiving ----

static uint64_t available(const struct rdma_link *rdma)
{
    return atomic_load_explicit(&rdma->arrived, memory_order_acquire) -
           atomic_load_explicit(&rdma->consumed, memory_order_relaxed);
}

static const uint8_t *ring_bytes(const struct rdma_link *rdma)
{
    return rdma->end.in +
           (atomic_load_explicit(&rdma->consumed, memory_order_relaxed) & (RDMA_RING_SIZE - 1));
}

static bool look(struct rdma_link *rdma)
{
    if (!available(rdma))
        rdma_progress(rdma);
    return available(rdma) > 0;
}

static bool take_kick(struct rdma_link *rdma)
{
    return atomic_load_explicit(&rdma->kicked, memory_order_relaxed) &&
           atomic_exchange(&rdma->kicked, false);
}

static int sleep_for_bytes(struct rdma_link *rdma, bool kickable, uint64_t deadline)
{
    int r, slept = 0;

    atomic_store(&rdma->receiver_sleeps, true);
    for (;;) {
        rdma_arm(rdma, atomic_load(&rdma->sender_sleeps));
        // What the peer sent before it went is still received.
        r = look(rdma) ? 1 : 0;
        if (!r && slept == -EPIPE)
            r = rdma_gone(rdma);
        if (!r)
            r = link_failure(&rdma->base);
        if (r || slept == -ETIMEDOUT || (kickable && take_kick(rdma)))
            break;
        slept = rdma_sleep(rdma, rdma->kick, false, deadline);
        if (slept && slept != -EPIPE && slept != -ETIMEDOUT) {
            r = link_fail(&rdma->base, slept, "cannot wait: %s", strerror(-slept));
            break;
        }
    }
    atomic_store_explicit(&rdma->receiver_sleeps, false, memory_order_relaxed);
    return r;
}

// Waits for bytes of the peer: 1: there, 0: the time has passed or a kick came, or -errno.
static int wait_for_bytes(struct rdma_link *rdma, bool kickable, int timeout_ms)
{
    struct spin spin = {.us = timeout_ms ? rdma->base.spin_us : 0};
    uint64_t deadline;

    if (look(rdma))
        return 1;
    if (timeout_ms == 0)
        return link_failure(&rdma->base);
    deadline = deadline_in(timeout_ms);
    while (spin_more(&spin, SPIN_TURNS)) {
        if (look(rdma))
            return 1;
        if (link_failure(&rdma->base))
            return link_failure(&rdma->base);
        if (kickable && take_kick(rdma))
            return 0;
    }
    return sleep_for_bytes(rdma, kickable, deadline);
}

static void consume(struct rdma_link *rdma, uint64_t size)
{
    uint64_t consumed = atomic_load_explicit(&rdma->consumed, memory_order_relaxed) + size;

    atomic_store(&rdma->consumed, consumed);
    atomic_fetch_add_explicit(&rdma->base.received, size, memory_order_relaxed);
    if (consumed - atomic_load_explicit(&rdma->bytes_told, memory_order_relaxed) >=
        RDMA_RING_SIZE / 2)
        rdma_return_credit(rdma);
}

static int rdma_receive(struct link *link, void *buffer, size_t room, int timeout_ms)
{
    struct rdma_link *rdma = rdma_of(link);
    uint32_t size;

    if (!available(rdma)) {
        int r = wait_for_bytes(rdma, true, timeout_ms);
        if (r <= 0)
            return r;
    }
    // The peer's device could write here at any time: the size is read once, and the copy is
    // what gets checked.
    size = *(const volatile uint32_t *)ring_bytes(rdma);
    if (!link_record_size_valid(size) || size > available(rdma) || size > room)
        return link_fail(link, -EPROTO, "the peer broke the protocol: record of %u bytes", size);
    memcpy(buffer, ring_bytes(rdma), size);
    memcpy(buffer, &size, sizeof(size));
    consume(rdma, size);
    return (int)size;
}

static int rdma_receive_bulk(struct link *link, void *payload, size_t length)
{
    struct rdma_link *rdma = rdma_of(link);
    uint8_t *to = payload;

    while (length) {
        uint64_t piece = available(rdma);
        if (!piece) {
            int r = wait_for_bytes(rdma, false, -1);
            if (r < 0)
                return r;
            continue;
        }
        if (piece > length)
            piece = length;
        memcpy(to, ring_bytes(rdma), piece);
        consume(rdma, (piece + 7) & ~UINT64_C(7));
        to += piece;
        length -= piece;
    }
    return 0;
}

static bool rdma_pending(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);
    struct timespec now;

    if (look(rdma))
        return true;
    // The peer's end takes a system call to see, so only once per clock tick.
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    int64_t tick = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (atomic_exchange_explicit(&rdma->looked, tick, memory_order_relaxed) == tick)
        return false;
    return rdma_peer_has_ended(rdma) || available(rdma);
}

static void rdma_kick(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    atomic_store(&rdma->kicked, true);
    if (atomic_load(&rdma->receiver_sleeps))
        rdma_ring_event(rdma->kick);
}

static const struct link_staging *rdma_staging(const struct link *link)
{
    const struct rdma_link *rdma = (const struct rdma_link *)link;

    return rdma->end.owns_staging ? &rdma->end.staging : NULL;
}

// ---- ends ----

static void rdma_wake_all(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    rdma_end_disconnect(&rdma->end);
    rdma_ring_event(rdma->kick);
    rdma_ring_event(rdma->space);
}

// In the child of a fork: the queue pairs live in the kernel and are the parent's. Only descriptors
// of our own making are closed; librdmacm's are closed by exec.
static void rdma_close(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    rdma->abandoned = true;
    close(rdma->end.events->fd);
    close(rdma->end.completions->fd);
    close(rdma->kick);
    close(rdma->space);
}

// Until the peer's device has answered the last message; its records would be lost with the queue.
static void drain(struct rdma_link *rdma)
{
    uint64_t deadline = deadline_in(DRAIN_MS);

    while (!link_failure(&rdma->base) && !rdma_peer_has_ended(rdma) &&
           atomic_load(&rdma->completed) < rdma->posted && deadline_left(deadline)) {
        rdma_post_keepalive(rdma);
        rdma_arm(rdma, true);
        rdma_progress(rdma);
        if (atomic_load(&rdma->completed) < rdma->posted)
            rdma_sleep(rdma, rdma->kick, true, deadline_in(20));
    }
}

static void rdma_free(struct link *link)
{
    struct rdma_link *rdma = rdma_of(link);

    if (!rdma->abandoned) {
        drain(rdma);
        if (!link_failure(link))
            rdma_end_disconnect(&rdma->end);
        rdma_regions_free(rdma);
        rdma_end_close(&rdma->end);
        if (rdma->kick >= 0)
            close(rdma->kick);
        if (rdma->space >= 0)
            close(rdma->space);
    }
    pthread_mutex_destroy(&rdma->send_lock);
    pthread_mutex_destroy(&rdma->post_lock);
    pthread_mutex_destroy(&rdma->poll_lock);
    pthread_mutex_destroy(&rdma->region_lock);
    free(rdma);
}

static const struct link_ops rdma_ops = {
    .reserve = rdma_reserve,
    .commit = rdma_commit,
    .cancel = rdma_cancel,
    .flush = rdma_flush,
    .send_bulk = rdma_send_bulk,
    .receive = rdma_receive,
    .receive_bulk = rdma_receive_bulk,
    .pending = rdma_pending,
    .kick = rdma_kick,
    .staging = rdma_staging,
    .expose = rdma_expose,
    .conceal = rdma_conceal,
    .transfer_start = rdma_transfer_start,
    .transfer_poll = rdma_transfer_poll,
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
    rdma->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rdma->space = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (rdma->kick < 0 || rdma->space < 0) {
        int r = -errno;
        close(rdma->kick);
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
    *out = &rdma->base;
    return 0;
}
