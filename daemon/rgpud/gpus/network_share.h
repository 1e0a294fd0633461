// SPDX-License-Identifier: BSD-3-Clause
// Fair shares of the box's network card among leases, for one direction. Pure functions.
#ifndef RGPU_DAEMON_NETWORK_SHARE_H
#define RGPU_DAEMON_NETWORK_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct network_use {
    uint64_t counted; // bytes at the last turn
    uint64_t recent;  // bytes per second that the lease moved lately; 0: none for some seconds
    uint64_t rate;    // its limit in bytes per second, set by network_share(); 0: none
};

// Counts the bytes of a turn of ELAPSED_NS: BYTES is the sum so far. A card moves at most CAPACITY
// bytes per second.
void network_share_count(struct network_use *use, uint64_t bytes, uint64_t elapsed_ns,
                         uint64_t capacity);
// Sets the limits. One lease alone has none. Several have the same one: the equal part of those
// that want more than it, in what the others leave of CAPACITY.
void network_share(struct network_use *const *uses, size_t count, uint64_t capacity);

#endif
