// SPDX-License-Identifier: BSD-3-Clause
// Copies between the devices of a program, for calls that name no devices, so that the addresses
// determine them (peer.c).
#ifndef RGPU_CLIENT_PEER_COPIES_H
#define RGPU_CLIENT_PEER_COPIES_H

#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"

// Returns the context of STREAM, which copy_begin has resolved; NULL with *RESULT on failure.
const struct object *copy_context_of_stream(CUstream stream, CUresult *result);
// Copies between memory of the contexts TO and FROM, which belong to one box or to two. The copy is
// in the order of STREAM, which belongs to SESSION and which copy_begin has resolved.
CUresult copy_between_contexts(struct object *to, struct object *from, const struct rect_copy *copy,
                               struct box_session *session, CUstream stream);
// Returns true if DST and SRC are device memory of two different boxes. Then *TO and *FROM describe
// their allocations.
bool copy_crosses_boxes(CUdeviceptr dst, CUdeviceptr src, struct allocation *to,
                        struct allocation *from);

#endif
