// SPDX-License-Identifier: BSD-3-Clause
// Copies between contexts with a side that has no address which another box could reach: an array, or memory of the
// program (peer_arrays.c).
#ifndef RGPU_CLIENT_PEER_ARRAYS_H
#define RGPU_CLIENT_PEER_ARRAYS_H

#include "client-lib/objects/object.h"
#include "proto/cuda_abi.h"

// On the box of CONTEXT, whose both sides are, or one and the program's memory, in the order of STREAM, which copy_begin
// has resolved.
CUresult copy_peer_on(struct object *context, const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
// Between two boxes: an array is copied to or from rows of memory beside it, and these travel.
CUresult copy_peer_by_rows(const CUDA_MEMCPY3D_PEER *copy, struct object *from, struct object *to,
                           CUstream stream);

#endif
