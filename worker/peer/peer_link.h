// SPDX-License-Identifier: BSD-3-Clause
// Peer links: each leads to the worker of another session of our client, over which copies between the two
// GPUs go. Their frames are records of a link of their own, or go by way of the client.
//
// All that is here is under the lock of peer_mover, whose thread is also the only one that sends frames and the only
// one that takes copies out of their lists. Links stay until the process ends.
#ifndef RGPU_WORKER_PEER_LINK_H
#define RGPU_WORKER_PEER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"
#include "worker/move/mover.h"
#include "worker/peer/peer_blocks.h"

enum { PEER_LINKS_MAX = 64 };

struct peer_job;
struct link;

enum peer_state {
    PEER_MEETING, // the two ends are still to be connected
    PEER_DIRECT,
    PEER_RELAYED, // by the client
};

struct peer_link {
    uint32_t number; // the client's
    enum peer_state state;
    struct link *direct; // of PEER_DIRECT
    bool privacy;        // it is to be encrypted
    bool reaches;        // our GPU reaches memory of the other end's
    uint32_t expected;   // number of the call that is to come
    char name[128];      // of the other box
    char address[128];   // where it was called; empty: it called
    char reason[200];    // why there is no direct one
    CUresult lost;       // what copies fail with from now on; CUDA_SUCCESS: the link is up
    unsigned credits;    // blocks that may be sent
    unsigned owed;       // blocks that became free here, and the other end does not know
    struct peer_blocks blocks;
    struct peer_job *jobs; // oldest first
    unsigned half_known;   // of them, those that only the other end has told of
    uint64_t newest;       // number of the last copy that the client has asked for
    struct peer_link *next;
};

extern struct mover peer_mover;
extern struct peer_link *peer_links;

struct peer_link *peer_link_find(uint32_t number); // NULL: there is none
// A link that is still to stand.
CUresult peer_link_add(uint32_t number, const void *name, size_t size);
// Its frames go by way of the client, for a REASON of SIZE bytes.
void peer_link_relay(struct peer_link *link, const void *reason, size_t size);
// It stands now, as STATE says.
void peer_link_stands(struct peer_link *link, enum peer_state state);
// Tells the supervisor of all links.
void peer_links_tell(void);
// Sends a frame and what FRAME->bytes says of PAYLOAD. Without the lock: it may wait for the other end. False: the
// link is down.
bool peer_link_send(struct peer_link *link, struct wire_peer_frame frame, const void *payload);

#endif
