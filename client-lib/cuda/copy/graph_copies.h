// SPDX-License-Identifier: BSD-3-Clause
// Copies that a graph makes in each run. If the box maps the host memory, the GPU copies it. Else
// the box requests the bytes from this process, or sends them, in each run.
#ifndef RGPU_CLIENT_GRAPH_COPIES_H
#define RGPU_CLIENT_GRAPH_COPIES_H

#include <stdbool.h>

#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/session/box_session.h"
#include "proto/wire.h"

// Describes a copy node of a graph of SESSION for a request. *PROGRAM is copied, for the program's
// later queries. The caller sends *OUT, or drops its callback.
CUresult graph_copy_describe(struct box_session *session, const CUDA_MEMCPY3D *program,
                             struct wire_copy_node *out);
// Returns true if both sides are memory of this process, so that the node calls a callback instead
// of copying.
bool graph_copy_is_here(const struct wire_copy_node *wire);

// Returns true if STREAM is under capture, or if the query of its status fails. Then *RESULT is
// CUDA_SUCCESS if the caller must capture the copy, else the error that the caller returns. WAIT:
// the call waits for the copy, which invalidates the capture.
bool graph_copy_wanted(struct box_session *session, CUstream stream, bool wait, CUresult *result);
// Captures COPY, of which at least one side is memory of this process.
CUresult graph_copy_capture(struct box_session *session, const struct rect_copy *copy,
                            CUstream stream);
// The same for SIZE bytes of linear memory.
CUresult graph_copy_capture_linear(struct box_session *session, struct side to, struct side from,
                                   size_t size, CUstream stream);

#endif
