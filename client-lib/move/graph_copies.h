// SPDX-License-Identifier: BSD-3-Clause
// Copies that a graph makes whenever it runs. Memory that the box maps is copied by the GPU itself; of other
// memory the box asks for the bytes, or sends them, at each run.
#ifndef RGPU_CLIENT_GRAPH_COPIES_H
#define RGPU_CLIENT_GRAPH_COPIES_H

#include <stdbool.h>

#include "client-lib/move/rect_sides.h"
#include "client-lib/session/box_session.h"
#include "proto/wire.h"

// A copy node as the box is asked for it, for a graph of SESSION. PROGRAM is kept for the program's questions.
CUresult graph_copy_describe(struct box_session *session, const CUDA_MEMCPY3D *program,
                             struct wire_copy_node *out);
// Both sides are memory of this process: the node is one that calls its callee.
bool graph_copy_is_here(const struct wire_copy_node *wire);
// The request has not gone out.
void graph_copy_abandon(const struct wire_copy_node *wire);

// Whether STREAM is under capture, so that none of the usual ways is open; *RESULT then says whether a copy
// can be captured there. WAIT: the call is one that waits, which no capture takes.
bool graph_copy_wanted(struct box_session *session, CUstream stream, bool wait, CUresult *result);
// Captures a copy that has a side in this process's memory.
CUresult graph_copy_capture(struct box_session *session, const struct rect_copy *copy,
                            CUstream stream);
// The same of one stretch of memory.
CUresult graph_copy_capture_linear(struct box_session *session, struct side to, struct side from,
                                   size_t size, CUstream stream);

#endif
