// SPDX-License-Identifier: BSD-3-Clause
// Limits the rate at which the processes of one lease move bytes over the network, for each
// direction. They share the memory of a throttle: one process sets the rates, the others count
// their bytes and wait. Without a rate nothing waits, and the only cost is the counting.
#ifndef RGPU_COMMON_THROTTLE_H
#define RGPU_COMMON_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum throttle_direction { THROTTLE_IN, THROTTLE_OUT, THROTTLE_DIRECTIONS };

enum { THROTTLE_SMALL = 4096 }; // fewer bytes are counted but do not wait

struct throttle_rates {
    _Atomic uint64_t rate[THROTTLE_DIRECTIONS]; // bytes per second; 0: no limit
};

struct throttle_counts {
    _Atomic uint64_t bytes[THROTTLE_DIRECTIONS];
    _Atomic uint64_t due_ns[THROTTLE_DIRECTIONS]; // when the bytes moved so far are within the rate
};

struct throttle {
    const struct throttle_rates *rates; // NULL: no limit, and no count
    struct throttle_counts *counts;
};

// Returns how many of SIZE bytes to move before the next wait.
size_t throttle_piece(const struct throttle *throttle, enum throttle_direction direction,
                      size_t size);
// Returns how many bytes a peer may send before they are read, a power of 2; 0: no limit.
size_t throttle_ahead(const struct throttle *throttle, enum throttle_direction direction);
// Counts SIZE bytes that were moved. Returns the time by clock_ns() to wait for before the next
// ones, or 0.
uint64_t throttle_count(const struct throttle *throttle, enum throttle_direction direction,
                        size_t size);
// Waits until UNTIL, until there is no limit, or until *STOP is not 0.
void throttle_wait(const struct throttle *throttle, enum throttle_direction direction,
                   uint64_t until, const _Atomic int *stop);

#endif
