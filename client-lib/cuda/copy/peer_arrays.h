// SPDX-License-Identifier: BSD-3-Clause
// Copies between contexts if one side is an array, or memory of the program. A box cannot address
// such a side of another box.
#ifndef RGPU_CLIENT_PEER_ARRAYS_H
#define RGPU_CLIENT_PEER_ARRAYS_H

#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

// Copies on the box of CONTEXT. Both sides belong to that box, or one does and the other is the
// program's memory. The copy is in the order of STREAM, which copy_begin has resolved.
CUresult copy_peer_on(struct object *context, const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
// Copies between two boxes. The box of an array copies it to or from rows in linear memory of its
// GPU, and a copy over the peer link transfers these rows. FROM and TO are the contexts of the
// sides.
CUresult copy_peer_by_rows(const CUDA_MEMCPY3D_PEER *copy, struct object *from, struct object *to,
                           CUstream stream);

#endif
