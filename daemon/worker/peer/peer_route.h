// SPDX-License-Identifier: BSD-3-Clause
// Route of a copy between two boxes: at each end, the network device accesses staging blocks or
// registered GPU memory. The end with the stream chooses for both ends, after the other end has
// reported if its memory can be registered. Only chosen memory is registered. Guarded by the lock
// of peer_link.h.
#ifndef RGPU_WORKER_PEER_ROUTE_H
#define RGPU_WORKER_PEER_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/copy/parts/direct.h"
#include "common/base/copy_path.h"

struct peer_route {
    struct direct_move memory; // memory at this end; its link is NULL if no device accesses it
    bool sends;                // the source is at this end
    bool may, far_may;         // the memory here, and that at the other end, can be registered
    bool chosen;               // this end has chosen `path`
    enum copy_path path;
    bool wanted, reported;        // the other end demands registration here; this end has answered
    bool asked;                   // this end demands registration there and waits for the answer
    struct direct_region *direct; // registered memory at this end; NULL: blocks
    uint64_t far;                 // address of the other end's registered target; 0: blocks
    uint32_t far_key;
};

// Must be called before a frame of the copy is sent. OFFERS: the other end chooses; memory that is
// registered already is offered to it.
void peer_route_begin(struct peer_route *route, const struct direct_move *memory, bool sends,
                      bool offers);
// Chooses the route, and registers the memory at this end if necessary. Its context must be
// current.
void peer_route_choose(struct peer_route *route);
// Registers the memory at this end for the other end. Its context must be current.
void peer_route_register(struct peer_route *route);
// Return true if the device reads the source's GPU memory, or writes the target's.
bool peer_route_reads_source(const struct peer_route *route);
bool peer_route_writes_target(const struct peer_route *route);
// Records the answer of the other end: address and key of its target (key 0: blocks), and if its
// memory can be registered.
void peer_route_hear(struct peer_route *route, uint64_t far, uint32_t far_key, bool may);
void peer_route_end(struct peer_route *route);

#endif
