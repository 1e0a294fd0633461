// SPDX-License-Identifier: BSD-3-Clause
// Between which memory the device of a link moves the bytes of a copy: blocks of the two ends, or
// what of the two GPUs' memory is registered with it. The end whose stream the copy belongs to
// chooses for both.
//
// Memory is registered only if that has been chosen.
// The other end says first what it could do. All under the lock of peer_link.h.
#ifndef RGPU_WORKER_PEER_ROUTE_H
#define RGPU_WORKER_PEER_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/copy/parts/direct.h"
#include "common/base/copy_path.h"

struct peer_route {
    struct direct_move memory; // ours; its link is NULL where no device moves it
    bool sends;                // that is the source
    bool may, far_may;         // it, and the other end's, can be registered
    bool chosen;
    enum copy_path path;          // if it is ours to choose
    bool wanted, reported;        // the other end wants our memory registered; it has been answered
    bool asked;                   // we want that of the other end, and are not answered
    struct direct_region *direct; // our memory, registered
    uint64_t far;                 // the other end's target; 0: blocks
    uint32_t far_key;
};

// Before anything is said of the copy. OFFERS: it is the other end's to choose, and what is
// registered already is there for nothing.
void peer_route_begin(struct peer_route *route, const struct direct_move *memory, bool sends,
                      bool offers);
// Chooses, and registers our memory if that is the choice; its context is current.
void peer_route_choose(struct peer_route *route);
// Registers our memory as the other end wants it; its context is current.
void peer_route_register(struct peer_route *route);
// Return true if the device is to read the source's memory, or write the target's.
bool peer_route_reads_source(const struct peer_route *route);
bool peer_route_writes_target(const struct peer_route *route);
// Records the other end's answer: the place of its target (key 0: blocks), and whether its memory
// can be registered.
void peer_route_hear(struct peer_route *route, uint64_t far, uint32_t far_key, bool may);
void peer_route_end(struct peer_route *route);

#endif
