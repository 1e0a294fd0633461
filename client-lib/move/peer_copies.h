// SPDX-License-Identifier: BSD-3-Clause
// Copies between the devices of a program, for the calls that find out which these are (peer.c).
#ifndef RGPU_CLIENT_PEER_COPIES_H
#define RGPU_CLIENT_PEER_COPIES_H

#include "client-lib/move/rect_sides.h"
#include "client-lib/objects/addresses.h"
#include "client-lib/objects/object.h"

// The context of a stream that copy_begin has resolved.
const struct object *copy_context_of_stream(CUstream stream, CUresult *result);
// Between memory of two contexts, whatever boxes they are of, in the order of STREAM, which copy_begin has resolved and
// which is SESSION's.
CUresult copy_between_contexts(struct object *to, struct object *from, const struct rect_copy *copy,
                               struct box_session *session, CUstream stream);
// Whether both are memory of devices, and of two boxes.
bool copy_crosses_boxes(CUdeviceptr dst, CUdeviceptr src, struct allocation *to,
                        struct allocation *from);

#endif
