// SPDX-License-Identifier: BSD-3-Clause
// Function table of a transport, and the common part of all links.
#ifndef RGPU_TRANSPORT_LINK_PRIVATE_H
#define RGPU_TRANSPORT_LINK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "proto/wire.h"
#include "transport/link/link.h"

// Shared memory: regions by number.
struct link_sharing {
    int (*send_region)(struct link *link, uint32_t region, int fd);
    int (*receive_region)(struct link *link, uint32_t region, enum link_region_kind kind, int *fd);
};

// Direct access to the client's memory.
struct link_reaching {
    int (*expose)(struct link *link, void *base, size_t size, uint32_t *key);
    void (*conceal)(struct link *link, void *base, size_t size);
    int (*register_local)(struct link *link, const struct link_local *memory,
                          struct link_registered **out);
    uint32_t (*local_key)(const struct link_registered *memory);
    void (*unregister_local)(struct link *link, struct link_registered *memory);
    int (*transfer_start)(struct link *link, const struct link_transfer *transfer);
    int (*transfer_poll)(struct link *link, void **cookies, int room);
    int (*transfer_wait)(struct link *link, uint32_t us);
    void (*transfer_wake)(struct link *link);
};

// Payloads that may be in flight when a call returns.
struct link_advance {
    int (*send)(struct link *link, const void *record, uint32_t size, const void *payload,
                size_t length, struct link_ahead *ahead);
    int (*receive)(struct link *link, void *payload, size_t length, struct link_ahead *ahead);
    void (*settle)(struct link *link, const struct link_ahead *ahead);
};
// For transports whose payloads are complete when the call returns.
extern const struct link_advance link_at_once;

// Starts a thread with all signals blocked (common/base/quiet_thread.h). NAME has at most 15
// characters. A failure is logged with PURPOSE.
bool link_thread_start(pthread_t *thread, const char *name, const char *purpose,
                       void *(*routine)(void *argument), void *argument);

// For transports without these abilities: all functions return -EOPNOTSUPP.
extern const struct link_sharing link_shares_nothing;
extern const struct link_reaching link_reaches_nothing;

// When a committed record must be sent: with a flush that follows, soon, or in the call.
enum link_leaving { LINK_LEAVES_LATER, LINK_LEAVES_SOON, LINK_LEAVES_NOW };

// Functions of a transport; none is NULL. link.c has checked sizes, and that the link is up.
struct link_ops {
    enum link_memory memory;
    void *(*reserve)(struct link *link, uint32_t size);
    int (*commit)(struct link *link, enum link_leaving leaving);
    void (*cancel)(struct link *link);
    int (*flush)(struct link *link);
    int (*send_bulk)(struct link *link, const void *record, uint32_t size, const void *payload,
                     size_t length);
    int (*receive)(struct link *link, void *buffer, size_t room, int timeout_ms);
    int (*receive_bulk)(struct link *link, void *payload, size_t length);
    const struct link_advance *advance;
    bool (*pending)(struct link *link);
    void (*interrupt)(struct link *link);
    const struct link_staging *(*staging)(const struct link *link); // NULL without shared memory
    int (*window)(const struct link *link);                         // -1: the link is in no window
    const struct link_sharing *sharing;
    const struct link_reaching *reaching;
    void (*wake_all)(struct link *link); // ends all waits, because the link is down
    // closes descriptors and mappings; takes no locks (link_abandon)
    void (*close)(struct link *link);
    void (*free)(struct link *link); // closes, then frees
};

// For transports without staging memory: returns NULL.
const struct link_staging *link_no_staging(const struct link *link);
int link_no_window(const struct link *link);

struct tcp_reconnect;

struct link {
    const struct link_ops *ops;
    struct tcp_reconnect *reconnect; // NULL: the link ends with its connections
    const char *name;
    uint32_t spin_us;
    struct throttle throttle;
    _Atomic bool crowded; // see link_wants_reading()
    _Atomic int failure;  // 0, or the first -errno: the link is down
    pthread_mutex_t failure_lock;
    char error[160]; // written before `failure`, with the lock held
    // Byte counters. The sender, or the receiver, is the only writer.
    _Atomic uint64_t sent;
    _Atomic uint64_t received;
    _Atomic uint64_t waited; // time that senders waited for space, ns
};

void link_init(struct link *link, const struct link_ops *ops, const char *name,
               const struct link_options *options);

// Marks the link as down with this reason, unless it is down already. Returns the first error.
int link_fail(struct link *link, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

static inline int link_failure(const struct link *link)
{
    return atomic_load_explicit(&link->failure, memory_order_acquire);
}

// Counts bytes that went over the network. Waits if the link is throttled and they were many.
static inline void link_throttle(struct link *link, enum throttle_direction direction, size_t bytes)
{
    uint64_t until = throttle_count(&link->throttle, direction, bytes);

    if (until)
        throttle_wait(&link->throttle, direction, until, &link->failure);
}

static inline bool link_record_size_valid(uint32_t size)
{
    return size >= 8 && size <= WIRE_RECORD_MAX && size % 8 == 0;
}

static inline void link_count(_Atomic uint64_t *counter, uint64_t bytes)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + bytes, memory_order_relaxed);
}

#endif
