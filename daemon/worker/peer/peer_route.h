// SPDX-License-Identifier: BSD-3-Clause
// The route of a copy between two boxes: at each end, the device of the link accesses either
// staging blocks or registered memory of the GPU. The end with the copy's stream chooses for both,
// after the other end has reported if its memory can be registered. Memory is registered only if it
// is chosen. The lock of peer_link.h protects all of this.
#ifndef RGPU_WORKER_PEER_ROUTE_H
#define RGPU_WORKER_PEER_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/copy/parts/direct.h"
#include "common/base/copy_path.h"

struct peer_route {
    struct direct_move memory;    // at this end; its link is NULL if no device accesses it
    bool sends;                   // this end has the source
    bool may, far_may;            // the memory can be registered here, and at the other end
    bool chosen;                  // by this end
    enum copy_path path;          // if chosen
    bool wanted, reported;        // the other end wants registration here; this end has answered
    bool asked;                   // this end wants registration there, and waits for the answer
    struct direct_region *direct; // the registered memory at this end; NULL: blocks
    uint64_t far;                 // address of the other end's registered target; 0: blocks
    uint32_t far_key;
};

// Called before any frame of the copy is sent. OFFERS: the other end chooses, and memory that is
// registered already is offered to it.
void peer_route_begin(struct peer_route *route, const struct direct_move *memory, bool sends,
                      bool offers);
// Chooses the route, and registers the memory at this end if it is chosen; its context is current.
void peer_route_choose(struct peer_route *route);
// Registers the memory at this end for the other end; its context is current.
void peer_route_register(struct peer_route *route);
// Return true if the device reads the source's GPU memory, or writes the target's.
bool peer_route_reads_source(const struct peer_route *route);
bool peer_route_writes_target(const struct peer_route *route);
// Records the other end's answer: the address and key of its target (key 0: blocks), and if its
// memory can be registered.
void peer_route_hear(struct peer_route *route, uint64_t far, uint32_t far_key, bool may);
void peer_route_end(struct peer_route *route);

#endif
