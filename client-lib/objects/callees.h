// SPDX-License-Identifier: BSD-3-Clause
// What graphs call in this process whenever they run: functions, copies of memory that the box does not map,
// and the destructors of user objects. The box says when one will not be called again.
#ifndef RGPU_CLIENT_CALLEES_H
#define RGPU_CLIENT_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/session/box_session.h"

// Rows of memory of this process, which travel packed.
struct callee_copy {
    uint8_t *host;
    size_t pitch, slice; // bytes from row to row, from plane to plane
    size_t width, height, depth;
    bool to_device;
    CUDA_MEMCPY3D program; // as the program gave it
    // Of a copy within this process, where it comes from; else NULL.
    const uint8_t *from;
    size_t from_pitch, from_slice;
};

// 0: there is no memory, or no thread can be had that would make the calls.
uint64_t callee_function(struct box_session *session, CUhostFn function, void *data);
uint64_t callee_destructor(struct box_session *session, CUhostFn function, void *data);
uint64_t callee_copy(struct box_session *session, const struct callee_copy *copy);
// The user object that ends with its destructor.
void callee_names(uint64_t callee, CUuserObject object);
// One whose request has not gone out.
void callee_drop(uint64_t callee);

// A stream or a graph has come to a function.
void callee_due(struct box_session *session, const struct wire_host_function *event);
// The other events, EVENT_GRAPH_....
void callee_event(struct box_session *session, enum wire_event_kind kind,
                  const struct wire_callee *body, const void *data, uint32_t bytes);

#endif
