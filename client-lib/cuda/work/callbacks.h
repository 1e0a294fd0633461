// SPDX-License-Identifier: BSD-3-Clause
// Callbacks of graphs in this process, called in each run: functions, copies of memory that the box
// does not map, and the destructors of user objects. The box reports when it will not call one
// again.
#ifndef RGPU_CLIENT_CALLBACKS_H
#define RGPU_CLIENT_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/cuda/session/box_session.h"

// Rows of memory of this process, which are sent packed.
struct callback_copy {
    uint8_t *host;
    size_t pitch, slice; // bytes from row to row, from plane to plane
    size_t width, height, depth;
    bool to_device;
    CUDA_MEMCPY3D program; // as the program gave it
    // The source of a copy within this process, else NULL.
    const uint8_t *from;
    size_t from_pitch, from_slice;
};

// These return 0 if there is no memory, or no thread to make the calls.
uint64_t callback_function(struct box_session *session, CUhostFn function, void *data);
uint64_t callback_destructor(struct box_session *session, CUhostFn function, void *data);
uint64_t callback_copy(struct box_session *session, const struct callback_copy *copy);
// Sets the user object that ends when its destructor is called.
void callback_names(uint64_t callback, CUuserObject object);
// Releases one whose request was not sent.
void callback_drop(uint64_t callback);

// A stream or a graph has reached a function.
void callback_due(struct box_session *session, const struct wire_host_function *event);
// All other events, EVENT_GRAPH_...
void callback_event(struct box_session *session, enum wire_event_kind kind,
                    const struct wire_callback *body, const void *data, uint32_t bytes);

#endif
