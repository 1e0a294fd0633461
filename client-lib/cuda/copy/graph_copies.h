// SPDX-License-Identifier: BSD-3-Clause
// Copies that a graph makes in each run. The GPU itself copies memory that the box maps. For other
// memory the box requests the bytes, or sends them, in each run.
#ifndef RGPU_CLIENT_GRAPH_COPIES_H
#define RGPU_CLIENT_GRAPH_COPIES_H

#include <stdbool.h>

#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/session/box_session.h"
#include "proto/wire.h"

// Describes a copy node for a request, for a graph of SESSION. PROGRAM is kept for later queries by
// the program.
CUresult graph_copy_describe(struct box_session *session, const CUDA_MEMCPY3D *program,
                             struct wire_copy_node *out);
// Returns true if both sides are memory of this process: then the node calls its callback.
bool graph_copy_is_here(const struct wire_copy_node *wire);
// Frees the callback of a request that was not sent.
void graph_copy_abandon(const struct wire_copy_node *wire);

// Returns true if STREAM is under capture, so that the copy must be captured; *RESULT is then an
// error if it cannot be. WAIT: the call waits for the copy, which no capture permits.
bool graph_copy_wanted(struct box_session *session, CUstream stream, bool wait, CUresult *result);
// Captures a copy that has a side in this process's memory.
CUresult graph_copy_capture(struct box_session *session, const struct rect_copy *copy,
                            CUstream stream);
// The same for linear memory.
CUresult graph_copy_capture_linear(struct box_session *session, struct side to, struct side from,
                                   size_t size, CUstream stream);

#endif
