// SPDX-License-Identifier: BSD-3-Clause
// Each process reserves time for the bytes that it has moved, at the end of the time that all
// others have reserved, and waits until that is over. So a lease keeps its rate with any number of
// processes and connections.
#include "common/service/throttle.h"

#include <time.h>

#include "common/base/clock.h"

enum {
    PIECES_PER_SECOND = 8000, // short bursts, so that small messages of others pass between them
    AHEADS_PER_SECOND = 100,  // so that round trips of some milliseconds slow nothing down
    AHEAD_MIN = 64 << 10,
    AHEAD_MAX = 16 << 20,
    SLICE_NS = 10000000, // a new rate takes effect after this time at the latest
};
// A piece is no less than a TLS record, which must be sent again as it was.
static const size_t piece_min = 16 << 10, piece_max = 1 << 20;
// A process that sleeps longer than it meant to may make up for this time.
static const uint64_t credit_ns = 1000000;
static const uint64_t second_ns = 1000000000;

static uint64_t throttle_rate(const struct throttle *throttle, enum throttle_direction direction)
{
    if (!throttle->rates)
        return 0;
    return atomic_load_explicit(&throttle->rates->rate[direction], memory_order_relaxed);
}

size_t throttle_piece(const struct throttle *throttle, enum throttle_direction direction,
                      size_t size)
{
    uint64_t rate = throttle_rate(throttle, direction);
    uint64_t piece = rate / PIECES_PER_SECOND;

    if (!rate)
        return size;
    piece = piece < piece_min ? piece_min : piece > piece_max ? piece_max : piece;
    return size < piece ? size : (size_t)piece;
}

size_t throttle_ahead(const struct throttle *throttle, enum throttle_direction direction)
{
    uint64_t rate = throttle_rate(throttle, direction);
    size_t ahead = AHEAD_MIN;

    if (!rate)
        return 0;
    while (ahead < rate / AHEADS_PER_SECOND && ahead < AHEAD_MAX)
        ahead *= 2;
    return ahead;
}

uint64_t throttle_count(const struct throttle *throttle, enum throttle_direction direction,
                        size_t size)
{
    uint64_t rate = throttle_rate(throttle, direction), now, due, until;

    if (!throttle->counts)
        return 0;
    atomic_fetch_add_explicit(&throttle->counts->bytes[direction], size, memory_order_relaxed);
    if (!rate)
        return 0;
    now = clock_ns();
    due = atomic_load_explicit(&throttle->counts->due_ns[direction], memory_order_relaxed);
    do {
        // The word may be damaged: other processes of the lease write it, too.
        uint64_t from = due > now + 60 * second_ns || due + credit_ns < now ? now - credit_ns : due;
        until = from + (uint64_t)((double)size * 1e9 / (double)rate);
    } while (!atomic_compare_exchange_weak(&throttle->counts->due_ns[direction], &due, until));
    return size >= THROTTLE_SMALL && until > now ? until : 0;
}

void throttle_wait(const struct throttle *throttle, enum throttle_direction direction,
                   uint64_t until, const _Atomic int *stop)
{
    for (uint64_t now = clock_ns(); now < until; now = clock_ns()) {
        if (!throttle_rate(throttle, direction) || atomic_load(stop))
            return;
        uint64_t left = until - now < SLICE_NS ? until - now : SLICE_NS;
        const struct timespec pause = {.tv_nsec = (long)left};
        nanosleep(&pause, NULL);
    }
}
