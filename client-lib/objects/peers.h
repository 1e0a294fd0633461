// SPDX-License-Identifier: BSD-3-Clause
// Peer links between the boxes of this process: copies between their GPUs go over these.
#ifndef RGPU_CLIENT_PEERS_H
#define RGPU_CLIENT_PEERS_H

#include "client-lib/objects/object.h"
#include "client-lib/session/box_session.h"

// One side of a copy.
struct peer_side {
    struct object *context; // of its memory
    CUdeviceptr address;
    size_t pitch, slice; // bytes from row to row, from plane to plane
};

struct peer_copy {
    struct peer_side from, to;
    size_t width, height, depth; // bytes, rows, planes
};

// Copies in the order of STREAM, which is one of the two sessions', has been resolved and belongs to the context
// WAITING. Returns at once, but for the first copy between two boxes, and where very many are under way.
CUresult peers_copy(const struct peer_copy *copy, CUstream stream, const struct object *waiting);
// How many bytes of each side, from its beginning, the GPU of the stream's box can copy alone: 0, where it does not reach
// the memory of the other's. Else the address of that side is as it knows it.
uint64_t peers_reach(struct peer_copy *copy, const struct object *waiting);
// Bytes from the first of a side to behind its last.
uint64_t peer_side_extent(const struct peer_side *side, const struct peer_copy *copy);
// The number of the link between the two, which is made if need be. What comes over it by way of this process is listened to until
// peers_release.
CUresult peers_hold(struct box_session *a, struct box_session *b, uint32_t *number);
void peers_release(uint32_t number);
// EVENT_PEER_FRAME: a frame for the other end, and PAYLOAD, which is taken. Never blocks.
void peers_frame(struct box_session *session, const struct wire_peer_frame *frame, void *payload);
// EVENT_PEER_OVER.
void peers_over(struct box_session *session, const struct wire_peer_over *over);
// The session is lost: the other ends hear of it.
void peers_lost(struct box_session *session);

#endif
