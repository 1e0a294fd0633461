// SPDX-License-Identifier: BSD-3-Clause
// A transport's table of functions, and the part of a link that all share.
#ifndef RGPU_TRANSPORT_LINK_PRIVATE_H
#define RGPU_TRANSPORT_LINK_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "proto/wire.h"
#include "transport/link/link.h"

// Memory that both sides map: regions by number.
struct link_sharing {
    int (*send_region)(struct link *link, uint32_t region, int fd);
    int (*receive_region)(struct link *link, uint32_t region, enum link_region_kind kind, int *fd);
};

// Memory of the client that the worker reads and writes one-sidedly.
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

// Payloads that are under way when the call returns.
struct link_advance {
    int (*send)(struct link *link, const void *record, uint32_t size, const void *payload,
                size_t length, struct link_ahead *ahead);
    int (*receive)(struct link *link, void *payload, size_t length, struct link_ahead *ahead);
    void (*settle)(struct link *link, const struct link_ahead *ahead);
};
// For links where each is over when the call returns.
extern const struct link_advance link_at_once;

// Starts a thread that gets no signals (common/base/quiet_thread.h). NAME has at most 15
// characters. A failure is logged with PURPOSE.
bool link_thread_start(pthread_t *thread, const char *name, const char *purpose,
                       void *(*routine)(void *argument), void *argument);

// For links that cannot: -EOPNOTSUPP.
extern const struct link_sharing link_shares_nothing;
extern const struct link_reaching link_reaches_nothing;

// When a record that is committed leaves: with a flush that follows, by itself before long, or in
// this call.
enum link_leaving { LINK_LEAVES_LATER, LINK_LEAVES_SOON, LINK_LEAVES_NOW };

// link.c has checked sizes and that the link is up. No entry is NULL.
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
    const struct link_staging *(*staging)(
        const struct link *link);           // its result is NULL if there is none
    int (*window)(const struct link *link); // -1: it is in none
    const struct link_sharing *sharing;
    const struct link_reaching *reaching;
    void (*wake_all)(struct link *link); // the link was marked as down: end every wait
    void (*close)(struct link *link);    // descriptors and mappings; no locks (link_abandon)
    void (*free)(struct link *link);     // closes, then frees everything
};

// The staging of a link without any.
const struct link_staging *link_no_staging(const struct link *link);
int link_no_window(const struct link *link);

struct link {
    const struct link_ops *ops;
    const char *name;
    uint32_t spin_us;
    _Atomic int failure; // 0 while the link is up, else the first -errno
    pthread_mutex_t failure_lock;
    char error[160]; // written before failure, under its lock
    // Each has one writer at a time: the sender holds the sending side, the receiver is alone.
    _Atomic uint64_t sent;
    _Atomic uint64_t received;
    _Atomic uint64_t waited; // by the sender for room, in ns
};

void link_init(struct link *link, const struct link_ops *ops, const char *name,
               const struct link_options *options);

// Marks the link as down for the reason given, unless it is already. Returns the first failure.
int link_fail(struct link *link, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

static inline int link_failure(const struct link *link)
{
    return atomic_load_explicit(&link->failure, memory_order_acquire);
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
