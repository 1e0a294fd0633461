// SPDX-License-Identifier: BSD-3-Clause
// Peer links: connections between two boxes of this process, for copies between their GPUs. If two
// boxes cannot connect directly, this process passes their frames (messages) on. Any thread may
// call.
#ifndef RGPU_CLIENT_PEERS_H
#define RGPU_CLIENT_PEERS_H

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/box_session.h"

// One side of a copy.
struct peer_side {
    struct object *context; // the context that owns the memory
    CUdeviceptr address;    // of the first byte
    size_t pitch, slice;    // bytes from row to row, from plane to plane
};

struct peer_copy {
    struct peer_side from, to;
    size_t width, height, depth; // bytes, rows, planes
};

// Copies in the order of STREAM, which copy_begin has resolved and which belongs to WAITING, a
// context of one of the two sessions. Returns before the copy is done. Waits only to connect two
// boxes before their first copy, or while very many copies are under way.
CUresult peers_copy(const struct peer_copy *copy, CUstream stream, const struct object *waiting);
// Returns how many bytes of each side, from its beginning, the GPU of WAITING can copy by itself,
// by direct access to the other box's memory; 0 if it has no access. If the result is not 0, the
// other side's address in *COPY becomes the one that this GPU uses.
uint64_t peers_reach(struct peer_copy *copy, const struct object *waiting);
// Returns the bytes from the start of SIDE to the end of its last row.
uint64_t peer_side_extent(const struct peer_side *side, const struct peer_copy *copy);
// Returns the number of the link between two boxes, and connects them if necessary. Until
// peers_release, the service threads receive the frames that pass through this process.
CUresult peers_hold(struct box_session *a, struct box_session *b, uint32_t *number);
void peers_release(uint32_t number);
// Handles EVENT_PEER_FRAME: passes the frame to the other end of its link. Takes ownership of
// PAYLOAD. Never blocks.
void peers_frame(struct box_session *session, const struct wire_peer_frame *frame, void *payload);
// Handles EVENT_PEER_OVER: a copy over a link, or the link, has ended.
void peers_over(struct box_session *session, const struct wire_peer_over *over);
// Notifies the other end of each link of SESSION that the session is lost.
void peers_lost(struct box_session *session);

#endif
