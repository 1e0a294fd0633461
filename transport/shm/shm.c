// SPDX-License-Identifier: BSD-3-Clause
// Records travel through rings in shared memory. A send or receive that need not wait makes no
// system call. Otherwise it spins, then sleeps in poll() on its eventfd and on the sockets that
// close when the peer dies. The peer is woken through its eventfd if both ends have it, else by
// doorbells.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/shm/shm_private.h"
#include "common/base/scope.h"
#include "transport/shm/shm_regions.h"
#include "common/base/wait.h"

enum {
    SPIN_TURNS = 16, // looks at the ring per look at the clock
    PATIENT_SPIN_US =
        50, // a shorter spin time means too few processors to spin through longer waits
    BULK_PIECE = 128 * 1024, // published at once, so that the peer copies while we copy
};

struct shm_link {
    struct link base;
    struct shm_memory *memory;
    struct shm_doorbells *doorbells; // NULL: both ends have the event files
    int socket;                      // to the peer: regions or doorbells, and its end
    int watch;                       // the control connection or -1; the caller's
    enum shm_direction sending, receiving;

    pthread_mutex_t send_lock; // held from reserve to commit
    struct ring_producer out;
    uint32_t reserved;

    struct ring_consumer in;
    _Atomic bool receiver_sleeps;
    _Atomic bool interrupted;
    _Atomic int64_t looked;        // when link_pending() last asked the kernel for the peer's end
    struct wait_estimate estimate; // with waits for the peer
    struct spin_habit habit;

    pthread_mutex_t region_lock;
    struct shm_regions regions;
};

static struct shm_link *shm_of(struct link *link)
{
    return (struct shm_link *)link;
}

static int event_of(const struct shm_link *shm, enum shm_direction direction, enum shm_event event)
{
    return shm->memory->events[direction][event];
}

void shm_ring_event(int event)
{
    uint64_t one = 1;

    // Full (EAGAIN) is as good as written: the reader will wake.
    while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

static void wake_peer(struct shm_link *shm, enum shm_direction direction, enum shm_event event)
{
    if (shm->doorbells)
        shm->doorbells->ring(shm->doorbells, shm->socket, direction, event);
    else
        shm_ring_event(event_of(shm, direction, event));
}

static int shm_gone(struct shm_link *shm)
{
    return link_fail(&shm->base, -EPIPE, "the peer has gone");
}

static int broken(struct shm_link *shm, const char *what)
{
    return link_fail(&shm->base, -EPROTO, "the peer broke the protocol: %s", what);
}

// Returns true if one of the sockets has ended.
static bool peer_has_ended(const struct shm_link *shm)
{
    struct pollfd ends[] = {{.fd = shm->socket, .events = POLLRDHUP},
                            {.fd = shm->watch, .events = POLLRDHUP}};

    return poll(ends, 2, 0) > 0;
}

// Sleeps until EVENT is rung. 0 then, when a signal came or another event was rung; -ETIMEDOUT;
// -EPIPE: the peer has gone.
static int sleep_on(struct shm_link *shm, int event, uint64_t deadline)
{
    short heard = shm->doorbells ? shm->doorbells->heard : 0;
    struct pollfd wait[] = {{.fd = event, .events = POLLIN},
                            {.fd = shm->socket, .events = POLLRDHUP | heard},
                            {.fd = shm->watch, .events = POLLRDHUP}};
    int ready = poll(wait, 3, deadline_left(deadline));
    uint64_t count;

    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    if (wait[0].revents && read(event, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return -errno;
    if (wait[1].revents & heard)
        shm->doorbells->hear(shm->doorbells, shm->memory, shm->socket);
    if (wait[1].revents & ~heard || wait[2].revents)
        return -EPIPE;
    return ready ? 0 : -ETIMEDOUT;
}

// Waits until NEED bytes are free, at most half a ring.
static int wait_until_space(struct shm_link *shm, uint64_t need)
{
    struct ring_producer *out = &shm->out;
    int event = event_of(shm, shm->sending, SHM_EVENT_SPACE);
    struct spin spin = {.us = shm->base.spin_us};

    do {
        if (ring_producer_look(out, memory_order_acquire))
            return broken(shm, "position");
        if (ring_space(out) >= need)
            return 0;
    } while (!link_failure(&shm->base) && spin_more(&spin, SPIN_TURNS));
    for (;;) {
        atomic_store(&out->control->producer_asleep, 1);
        if (ring_producer_look(out, memory_order_seq_cst))
            return broken(shm, "position");
        if (ring_space(out) >= need || link_failure(&shm->base))
            break;
        int r = sleep_on(shm, event, UINT64_MAX);
        if (r == -EPIPE)
            return shm_gone(shm);
        if (r)
            return link_fail(&shm->base, r, "cannot wait: %s", strerror(-r));
    }
    atomic_store_explicit(&out->control->producer_asleep, 0, memory_order_relaxed);
    return link_failure(&shm->base);
}

static int wait_for_space(struct shm_link *shm, uint64_t need)
{
    uint64_t start;
    int r;

    // Usually the peer has freed space since the last check.
    if (ring_producer_look(&shm->out, memory_order_acquire))
        return broken(shm, "position");
    if (ring_space(&shm->out) >= need)
        return 0;
    start = clock_ns();
    r = wait_until_space(shm, need);
    link_count(&shm->base.waited, clock_ns() - start);
    return r;
}

static int need_space(struct shm_link *shm, uint64_t need)
{
    return __builtin_expect(ring_space(&shm->out) >= need, 1) ? 0 : wait_for_space(shm, need);
}

static void produce(struct shm_link *shm, uint64_t size)
{
    if (ring_produce(&shm->out, size))
        wake_peer(shm, shm->sending, SHM_EVENT_RECORDS);
    link_count(&shm->base.sent, size);
}

static void *shm_reserve(struct link *link, uint32_t size)
{
    struct shm_link *shm = shm_of(link);

    pthread_mutex_lock(&shm->send_lock);
    if (need_space(shm, size) || link_failure(link)) {
        pthread_mutex_unlock(&shm->send_lock);
        return NULL;
    }
    shm->reserved = size;
    return ring_room(&shm->out);
}

static int shm_commit(struct link *link, enum link_leaving leaving)
{
    struct shm_link *shm = shm_of(link);

    (void)leaving; // a published record has left
    memcpy(ring_room(&shm->out), &shm->reserved, sizeof(shm->reserved));
    produce(shm, shm->reserved);
    pthread_mutex_unlock(&shm->send_lock);
    return 0;
}

static void shm_cancel(struct link *link)
{
    pthread_mutex_unlock(&shm_of(link)->send_lock);
}

static int shm_flush(struct link *link)
{
    return 0;
}

// The payload goes through the ring too, padded to a multiple of 8.
static int shm_send_payload(struct shm_link *shm, const uint8_t *payload, size_t length)
{
    while (length) {
        int r = need_space(shm, 8);
        if (r)
            return r;
        // Takes the space that the receiver has freed since the last look: a little late, but in
        // larger pieces.
        if (ring_space(&shm->out) < BULK_PIECE && ring_space(&shm->out) < length &&
            ring_producer_look(&shm->out, memory_order_acquire))
            return broken(shm, "position");
        uint64_t piece = ring_space(&shm->out);
        if (piece > BULK_PIECE)
            piece = BULK_PIECE;
        if (piece > length)
            piece = length;
        memcpy(ring_room(&shm->out), payload, piece);
        produce(shm, (piece + 7) & ~UINT64_C(7));
        payload += piece;
        length -= piece;
    }
    return 0;
}

static int shm_send_bulk(struct link *link, const void *record, uint32_t size, const void *payload,
                         size_t length)
{
    struct shm_link *shm = shm_of(link);
    void *room = shm_reserve(link, size);
    int r;

    if (!room)
        return link_failure(link);
    memcpy(room, record, size);
    memcpy(room, &size, sizeof(size));
    produce(shm, size);
    r = shm_send_payload(shm, payload, length);
    pthread_mutex_unlock(&shm->send_lock);
    return r;
}

// The receiver looks for bytes: 1: some are there, 0: none, or -errno.
static int shm_look(struct shm_link *shm, memory_order order)
{
    if (ring_consumer_look(&shm->in, order))
        return broken(shm, "position");
    return ring_available(&shm->in) ? 1 : 0;
}

static bool shm_take_interrupt(struct shm_link *shm)
{
    return atomic_load_explicit(&shm->interrupted, memory_order_relaxed) &&
           atomic_exchange(&shm->interrupted, false);
}

static int shm_sleep_for_bytes(struct shm_link *shm, bool interruptible, uint64_t deadline)
{
    _Atomic uint32_t *asleep = &shm->in.control->consumer_asleep;
    int event = event_of(shm, shm->receiving, SHM_EVENT_RECORDS);
    int r, slept = 0;

    for (;;) {
        atomic_store(asleep, 1);
        atomic_store(&shm->receiver_sleeps, true);
        // Data that the peer sent before it ended are still received.
        r = shm_look(shm, memory_order_seq_cst);
        if (!r && slept == -EPIPE)
            r = shm_gone(shm);
        if (!r)
            r = link_failure(&shm->base);
        if (r || slept == -ETIMEDOUT || (interruptible && shm_take_interrupt(shm)))
            break;
        slept = sleep_on(shm, event, deadline);
        if (slept && slept != -EPIPE && slept != -ETIMEDOUT) {
            r = link_fail(&shm->base, slept, "cannot wait: %s", strerror(-slept));
            break;
        }
    }
    atomic_store_explicit(&shm->receiver_sleeps, false, memory_order_relaxed);
    atomic_store_explicit(asleep, 0, memory_order_relaxed);
    return r;
}

// Spins as long as recent waits took: after a request that waited for the GPU, the next one comes
// when that wait is over, and finds the reader awake. Beyond the spin time it yields to other
// threads.
enum { SPUN_IN_VAIN = 2 };
static int shm_spin_for_bytes(struct shm_link *shm, bool interruptible, uint64_t start)
{
    uint64_t least = (uint64_t)shm->base.spin_us * 1000, most = least, passed = 0;
    int r;

    if (shm->base.spin_us >= PATIENT_SPIN_US)
        most = wait_estimate_spin_ns(&shm->estimate, shm->base.spin_us);
    for (unsigned turn = 1; passed < most; turn++) {
        cpu_relax();
        r = shm_look(shm, memory_order_acquire);
        if (!r)
            r = link_failure(&shm->base);
        if (r)
            return r;
        if (interruptible && shm_take_interrupt(shm))
            return 0;
        if (turn % SPIN_TURNS)
            continue;
        passed = clock_ns() - start;
        if (passed >= least)
            sched_yield();
    }
    return SPUN_IN_VAIN;
}

// Waits for bytes of the peer. Returns 1 if there are some, 0 after the timeout or a wake-up, or
// -errno.
static int shm_wait_for_bytes(struct shm_link *shm, bool interruptible, int timeout_ms)
{
    int r = shm_look(shm, memory_order_acquire);
    uint64_t start, deadline;

    if (r || timeout_ms == 0)
        return r;
    start = clock_ns();
    deadline = deadline_in(timeout_ms);
    bool spins = spin_is_due(&shm->habit);
    r = spins ? shm_spin_for_bytes(shm, interruptible, start) : SPUN_IN_VAIN;
    if (spins && r == SPUN_IN_VAIN)
        spin_was_in_vain(&shm->habit, shm->base.spin_us);
    else if (spins)
        spin_paid(&shm->habit);
    if (r == SPUN_IN_VAIN)
        r = shm_sleep_for_bytes(shm, interruptible, deadline);
    if (r > 0)
        wait_estimate_add(&shm->estimate, clock_ns() - start);
    return r;
}

static void shm_consume(struct shm_link *shm, uint64_t size)
{
    if (ring_consume(&shm->in, size))
        wake_peer(shm, shm->receiving, SHM_EVENT_SPACE);
    link_count(&shm->base.received, size);
}

static int shm_receive(struct link *link, void *buffer, size_t room, int timeout_ms)
{
    struct shm_link *shm = shm_of(link);
    uint32_t size;

    if (!ring_available(&shm->in)) {
        int r = shm_wait_for_bytes(shm, true, timeout_ms);
        if (r <= 0)
            return r;
    }
    // The size is read once; the copy has the checked value, even if the peer has changed the
    // memory since.
    size = *(const volatile uint32_t *)ring_bytes(&shm->in);
    if (!link_record_size_valid(size) || size > ring_available(&shm->in) || size > room)
        return link_fail(link, -EPROTO, "the peer broke the protocol: record of %u bytes", size);
    memcpy(buffer, ring_bytes(&shm->in), size);
    memcpy(buffer, &size, sizeof(size));
    shm_consume(shm, size);
    return (int)size;
}

static int shm_receive_bulk(struct link *link, void *payload, size_t length)
{
    struct shm_link *shm = shm_of(link);
    uint8_t *to = payload;

    while (length) {
        uint64_t piece = ring_available(&shm->in);
        if (!piece) {
            int r = shm_wait_for_bytes(shm, false, -1);
            if (r < 0)
                return r;
            continue;
        }
        if (piece > BULK_PIECE)
            piece = BULK_PIECE;
        if (piece > length)
            piece = length;
        memcpy(to, ring_bytes(&shm->in), piece);
        shm_consume(shm, (piece + 7) & ~UINT64_C(7));
        to += piece;
        length -= piece;
    }
    return 0;
}

static bool shm_pending(struct link *link)
{
    struct shm_link *shm = shm_of(link);

    if (!ring_is_empty(&shm->in))
        return true;
    // Callers poll; the peer's end takes a system call to see, so only once per clock tick.
    int64_t tick = (int64_t)clock_coarse_ns();
    if (atomic_exchange_explicit(&shm->looked, tick, memory_order_relaxed) == tick)
        return false;
    return peer_has_ended(shm) || !ring_is_empty(&shm->in);
}

static void shm_interrupt(struct link *link)
{
    struct shm_link *shm = shm_of(link);

    atomic_store(&shm->interrupted, true);
    if (atomic_load(&shm->receiver_sleeps))
        shm_ring_event(event_of(shm, shm->receiving, SHM_EVENT_RECORDS));
}

static const struct link_staging *shm_staging(const struct link *link)
{
    return &((const struct shm_link *)link)->memory->staging;
}

static int shm_window(const struct link *link)
{
    return ((const struct shm_link *)link)->memory->fd;
}

// Waits for the socket, the peer's end or a shutdown.
static int wait_for_socket(struct shm_link *shm, short events, uint64_t deadline)
{
    struct pollfd wait[] = {{.fd = shm->socket, .events = events | POLLRDHUP},
                            {.fd = shm->watch, .events = POLLRDHUP}};
    int ready = poll(wait, 2, deadline_left(deadline));

    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    if (!ready)
        return -ETIMEDOUT;
    if (wait[0].revents & events)
        return 0;
    return shm_gone(shm);
}

static int shm_send_region(struct link *link, uint32_t region, int fd)
{
    struct shm_link *shm = shm_of(link);
    uint64_t deadline = deadline_in(SHM_REGION_TIMEOUT_MS);
    int r;

    while ((r = shm_region_send(shm->socket, region, fd)) == -EAGAIN) {
        r = wait_for_socket(shm, POLLOUT, deadline);
        if (r)
            return r;
        if (link_failure(link))
            return link_failure(link);
    }
    return r == -EPIPE || r == -ECONNRESET ? shm_gone(shm) : r;
}

static int read_region(struct shm_link *shm, uint64_t deadline)
{
    int r = shm_region_read(&shm->regions, shm->socket);

    if (r == -EAGAIN)
        r = wait_for_socket(shm, POLLIN, deadline);
    else if (r == -EPIPE)
        r = shm_gone(shm);
    else if (r)
        r = broken(shm, "region");
    return r ? r : link_failure(&shm->base);
}

static int take_region(struct shm_link *shm, uint32_t region, int *fd)
{
    uint64_t deadline = deadline_in(SHM_REGION_TIMEOUT_MS);
    int r = 0;

    SCOPED_LOCK(&shm->region_lock);
    while (!r && shm_region_take(&shm->regions, region, fd) == -ENOENT)
        r = read_region(shm, deadline);
    return r;
}

static bool is_of_kind(int fd, enum link_region_kind kind)
{
    switch (kind) {
    case LINK_REGION_SEALED: return shm_region_is_sealed(fd);
    case LINK_REGION_FILE: return shm_region_is_file(fd);
    case LINK_REGION_ANY: break;
    }
    return true;
}

static int shm_receive_region(struct link *link, uint32_t region, enum link_region_kind kind,
                              int *fd)
{
    SCOPED_FD int got = -1;
    int r = take_region(shm_of(link), region, &got);

    if (r)
        return r;
    if (!is_of_kind(got, kind))
        return -EINVAL;
    *fd = scoped_take_fd(&got);
    return 0;
}

static void shm_wake_all(struct link *link)
{
    struct shm_link *shm = shm_of(link);

    shutdown(shm->socket, SHUT_RDWR);
    shm_ring_event(event_of(shm, shm->receiving, SHM_EVENT_RECORDS));
    shm_ring_event(event_of(shm, shm->sending, SHM_EVENT_SPACE));
}

static void shm_close(struct link *link)
{
    struct shm_link *shm = shm_of(link);

    if (shm->socket >= 0)
        close(shm->socket);
    shm->socket = -1;
    if (shm->doorbells)
        shm->doorbells->close(shm->doorbells);
    shm_regions_close(&shm->regions);
    shm_memory_close(shm->memory);
}

static void shm_free(struct link *link)
{
    struct shm_link *shm = shm_of(link);

    // Only this ends the connection for the peer if other processes have the socket as well.
    if (shm->doorbells && shm->socket >= 0)
        shutdown(shm->socket, SHUT_RDWR);
    shm_close(link);
    shm_memory_free(&shm->memory);
    if (shm->doorbells)
        shm->doorbells->free(shm->doorbells);
    free(shm);
}

static const struct link_sharing shm_sharing = {
    .send_region = shm_send_region,
    .receive_region = shm_receive_region,
};

#define SHM_OPERATIONS \
    .reserve = shm_reserve, .commit = shm_commit, .cancel = shm_cancel, .flush = shm_flush, \
    .send_bulk = shm_send_bulk, .receive = shm_receive, .receive_bulk = shm_receive_bulk, \
    .advance = &link_at_once, .pending = shm_pending, .interrupt = shm_interrupt, \
    .staging = shm_staging, .reaching = &link_reaches_nothing, .wake_all = shm_wake_all, \
    .close = shm_close, .free = shm_free

static const struct link_ops shm_ops = {
    .memory = LINK_MEMORY_SHARED,
    SHM_OPERATIONS,
    .window = link_no_window,
    .sharing = &shm_sharing,
};

// A window is all the memory that there is, so that no files travel.
static const struct link_ops window_ops = {
    .memory = LINK_MEMORY_WINDOW,
    SHM_OPERATIONS,
    .window = shm_window,
    .sharing = &link_shares_nothing,
};

static int shm_make(const struct link_ops *ops, const char *name, enum shm_side side,
                    struct shm_memory **memory, int socket, int watch,
                    const struct link_options *options, struct shm_link **out)
{
    struct shm_link *shm = aligned_alloc(64, (sizeof(*shm) + 63) & ~(size_t)63);
    pthread_mutexattr_t adaptive;

    if (!shm)
        return -ENOMEM;
    memset(shm, 0, sizeof(*shm));
    link_init(&shm->base, ops, name, options);
    shm->memory = *memory;
    *memory = NULL;
    shm->socket = socket;
    shm->watch = watch;
    shm->sending = side == SHM_WORKER ? SHM_TO_CLIENT : SHM_TO_WORKER;
    shm->receiving = side == SHM_WORKER ? SHM_TO_WORKER : SHM_TO_CLIENT;
    pthread_mutexattr_init(&adaptive);
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&shm->send_lock, &adaptive);
    pthread_mutex_init(&shm->region_lock, NULL);
    pthread_mutexattr_destroy(&adaptive);
    ring_producer_init(&shm->out, &shm->memory->header->rings[shm->sending],
                       shm->memory->rings[shm->sending], SHM_RING_SIZE);
    ring_consumer_init(&shm->in, &shm->memory->header->rings[shm->receiving],
                       shm->memory->rings[shm->receiving], SHM_RING_SIZE);
    *out = shm;
    return 0;
}

int shm_link_new(const char *name, enum shm_side side, struct shm_memory **memory, int socket,
                 int watch, const struct link_options *options, struct link **out)
{
    struct shm_link *shm;
    int r = shm_make(&shm_ops, name, side, memory, socket, watch, options, &shm);

    if (!r)
        *out = &shm->base;
    return r;
}

int shm_link_new_in_window(const char *name, enum shm_side side, struct shm_memory **memory,
                           int socket, struct shm_doorbells *doorbells,
                           const struct link_options *options, struct link **out)
{
    struct shm_link *shm;
    int r = shm_make(&window_ops, name, side, memory, socket, -1, options, &shm);

    if (r)
        return r;
    shm->doorbells = doorbells;
    *out = &shm->base;
    return 0;
}
