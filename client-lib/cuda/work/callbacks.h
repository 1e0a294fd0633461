// SPDX-License-Identifier: BSD-3-Clause
// Callbacks: functions of the program, copies of memory that the box does not map, and destructors
// of user objects, which graphs call in this process in each run. A callback exists until the box
// reports that it will not call it again. Any thread may call.
#ifndef RGPU_CLIENT_CALLBACKS_H
#define RGPU_CLIENT_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// A copy of rows in memory of this process, which are sent packed.
struct callback_copy {
    uint8_t *host;               // the first row: the source if `to_device`, else the destination
    size_t pitch, slice;         // bytes from row to row, from plane to plane
    size_t width, height, depth; // bytes, rows, planes
    bool to_device;
    CUDA_MEMCPY3D program; // the program's description, for its queries
    // The source of a copy within this process, else NULL; pitch and slice as above.
    const uint8_t *from;
    size_t from_pitch, from_slice;
};

// Create a callback for a graph of SESSION, and return its handle; 0 if memory has run out or the
// thread that makes the calls cannot be started. *COPY is copied.
uint64_t callback_function(struct box_session *session, CUhostFn function, void *data);
uint64_t callback_destructor(struct box_session *session, CUhostFn function, void *data);
uint64_t callback_copy(struct box_session *session, const struct callback_copy *copy);
// Sets the user object whose handle ends when CALLBACK, its destructor, is called.
void callback_names(uint64_t callback, CUuserObject object);
// Frees a callback whose request was not sent.
void callback_drop(uint64_t callback);

// Handles EVENT_HOST_FUNCTION: a stream or a graph has reached a function.
void callback_due(struct box_session *session, const struct wire_host_function *event);
// Handles the events EVENT_GRAPH_... of callbacks. DATA has BYTES bytes and is valid during the
// call.
void callback_event(struct box_session *session, enum wire_event_kind kind,
                    const struct wire_callback *body, const void *data, uint32_t bytes);

#endif
