// SPDX-License-Identifier: BSD-3-Clause
// A ring of bytes in shared memory, with one producer and one consumer in two processes that do not
// trust each other. Positions are byte counts that never wrap. Each side keeps its own position in
// private memory, publishes it, and validates the peer's; it trusts nothing else in shared memory.
//
// Sleeping: a side sets its `asleep` word and then reads the peer's position again; the peer
// updates its position and then reads the word. All four accesses are sequentially consistent, so
// at least one side sees the other's write.
#ifndef RGPU_TRANSPORT_SHM_RING_H
#define RGPU_TRANSPORT_SHM_RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Each word has its own cache line: positions are written all the time, asleep words rarely.
struct ring_control {
    _Alignas(64) _Atomic uint64_t produced;
    _Alignas(64) _Atomic uint64_t consumed;
    _Alignas(64) _Atomic uint32_t consumer_asleep;
    _Alignas(64) _Atomic uint32_t producer_asleep;
};
_Static_assert(sizeof(struct ring_control) == 256, "four cache lines");

// SIZE is a power of two, equal on both sides. BYTES is mapped twice in a row.
struct ring_producer {
    struct ring_control *control;
    uint8_t *bytes;
    uint64_t size;
    uint64_t produced;
    uint64_t consumed; // last validated value
};

struct ring_consumer {
    struct ring_control *control;
    const uint8_t *bytes;
    uint64_t size;
    _Atomic uint64_t consumed; // written by the consumer only
    uint64_t produced;         // last validated value
};

static inline void ring_producer_init(struct ring_producer *ring, struct ring_control *control,
                                      uint8_t *bytes, uint64_t size)
{
    *ring = (struct ring_producer){.control = control, .bytes = bytes, .size = size};
}

static inline void ring_consumer_init(struct ring_consumer *ring, struct ring_control *control,
                                      const uint8_t *bytes, uint64_t size)
{
    *ring = (struct ring_consumer){.control = control, .bytes = bytes, .size = size};
}

// Reads the consumer's position. Returns 0, or -EPROTO if it is impossible.
static inline int ring_producer_look(struct ring_producer *ring, memory_order order)
{
    uint64_t consumed = atomic_load_explicit(&ring->control->consumed, order);

    if (ring->produced - consumed > ring->size || consumed % 8)
        return -EPROTO;
    ring->consumed = consumed;
    return 0;
}

static inline uint64_t ring_space(const struct ring_producer *ring)
{
    return ring->size - (ring->produced - ring->consumed);
}

static inline uint8_t *ring_room(struct ring_producer *ring)
{
    return ring->bytes + (ring->produced & (ring->size - 1));
}

// Publishes SIZE bytes (a multiple of 8). Returns true if the consumer must be woken.
static inline bool ring_produce(struct ring_producer *ring, uint64_t size)
{
    ring->produced += size;
    atomic_store_explicit(&ring->control->produced, ring->produced, memory_order_seq_cst);
    return atomic_load_explicit(&ring->control->consumer_asleep, memory_order_seq_cst) &&
           atomic_exchange_explicit(&ring->control->consumer_asleep, 0, memory_order_relaxed);
}

// Reads the producer's position. Returns 0, or -EPROTO if it is impossible.
static inline int ring_consumer_look(struct ring_consumer *ring, memory_order order)
{
    uint64_t produced = atomic_load_explicit(&ring->control->produced, order);
    uint64_t consumed = atomic_load_explicit(&ring->consumed, memory_order_relaxed);

    if (produced - consumed > ring->size || produced % 8)
        return -EPROTO;
    ring->produced = produced;
    return 0;
}

static inline uint64_t ring_available(const struct ring_consumer *ring)
{
    return ring->produced - atomic_load_explicit(&ring->consumed, memory_order_relaxed);
}

static inline const uint8_t *ring_bytes(const struct ring_consumer *ring)
{
    uint64_t consumed = atomic_load_explicit(&ring->consumed, memory_order_relaxed);

    return ring->bytes + (consumed & (ring->size - 1));
}

// Frees SIZE bytes (a multiple of 8). Returns true if the producer must be woken, which is when
// half of the ring is free, so that the two sides do not alternate after each record.
static inline bool ring_consume(struct ring_consumer *ring, uint64_t size)
{
    uint64_t consumed = atomic_load_explicit(&ring->consumed, memory_order_relaxed) + size;

    atomic_store_explicit(&ring->consumed, consumed, memory_order_relaxed);
    atomic_store_explicit(&ring->control->consumed, consumed, memory_order_seq_cst);
    if (!atomic_load_explicit(&ring->control->producer_asleep, memory_order_seq_cst))
        return false;
    if (ring_consumer_look(ring, memory_order_acquire) == 0 &&
        ring_available(ring) > ring->size / 2)
        return false;
    return atomic_exchange_explicit(&ring->control->producer_asleep, 0, memory_order_relaxed);
}

// Any thread of the consumer's process may call.
static inline bool ring_is_empty(const struct ring_consumer *ring)
{
    return atomic_load_explicit(&ring->control->produced, memory_order_acquire) ==
           atomic_load_explicit(&ring->consumed, memory_order_relaxed);
}

#endif
