// SPDX-License-Identifier: BSD-3-Clause
// Copies between contexts with a side that another box cannot address: an array, or memory of the
// program (peer_arrays.c).
#ifndef RGPU_CLIENT_PEER_ARRAYS_H
#define RGPU_CLIENT_PEER_ARRAYS_H

#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

// Copies on the box of CONTEXT, which has both sides, or one while the other is the program's
// memory. The copy is in the order of STREAM, which copy_begin has resolved.
CUresult copy_peer_on(struct object *context, const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
// Copies between two boxes: an array is copied to or from linear rows beside it, and these are
// sent.
CUresult copy_peer_by_rows(const CUDA_MEMCPY3D_PEER *copy, struct object *from, struct object *to,
                           CUstream stream);

#endif
