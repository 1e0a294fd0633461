// SPDX-License-Identifier: BSD-3-Clause
// Peer links between the boxes of this process. Copies between their GPUs use these links.
#ifndef RGPU_CLIENT_PEERS_H
#define RGPU_CLIENT_PEERS_H

#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/box_session.h"

// One side of a copy.
struct peer_side {
    struct object *context; // owner of the memory
    CUdeviceptr address;
    size_t pitch, slice; // bytes from row to row, from plane to plane
};

struct peer_copy {
    struct peer_side from, to;
    size_t width, height, depth; // bytes, rows, planes
};

// Copies in the order of STREAM. The stream belongs to the context WAITING of one of the two
// sessions, and has been resolved. Returns at once, except for the first copy between two boxes,
// and if very many copies are under way.
CUresult peers_copy(const struct peer_copy *copy, CUstream stream, const struct object *waiting);
// Returns the bytes of each side, from its beginning, that the GPU of the stream's box can copy by
// itself; 0: it cannot access the other box's memory. The other side's address becomes the one that
// this GPU uses.
uint64_t peers_reach(struct peer_copy *copy, const struct object *waiting);
// Returns the bytes from the first one of a side to the end of its last one.
uint64_t peer_side_extent(const struct peer_side *side, const struct peer_copy *copy);
// Finds the number of the link between two boxes, and connects them if necessary. Frames that pass
// through this process are received until peers_release.
CUresult peers_hold(struct box_session *a, struct box_session *b, uint32_t *number);
void peers_release(uint32_t number);
// EVENT_PEER_FRAME: passes a frame to the other end, and takes ownership of PAYLOAD. Never blocks.
void peers_frame(struct box_session *session, const struct wire_peer_frame *frame, void *payload);
// EVENT_PEER_OVER: a copy or a link has ended.
void peers_over(struct box_session *session, const struct wire_peer_over *over);
// Notifies the other ends of its links that the session is lost.
void peers_lost(struct box_session *session);

#endif
