// SPDX-License-Identifier: BSD-3-Clause
// Copies between the devices of a program, for calls that find the devices themselves (peer.c).
#ifndef RGPU_CLIENT_PEER_COPIES_H
#define RGPU_CLIENT_PEER_COPIES_H

#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"

// Returns the context of a stream that copy_begin has resolved.
const struct object *copy_context_of_stream(CUstream stream, CUresult *result);
// Copies between memory of two contexts, of one box or two, in the order of STREAM, which
// copy_begin has resolved and which belongs to SESSION.
CUresult copy_between_contexts(struct object *to, struct object *from, const struct rect_copy *copy,
                               struct box_session *session, CUstream stream);
// Returns true if both addresses are device memory, on two different boxes.
bool copy_crosses_boxes(CUdeviceptr dst, CUdeviceptr src, struct allocation *to,
                        struct allocation *from);

#endif
