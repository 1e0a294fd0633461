// SPDX-License-Identifier: BSD-3-Clause
// Waits until the GPU has reached a point of a stream, by the flags that it writes if the link has
// flags.
#ifndef RGPU_CLIENT_FLAGS_H
#define RGPU_CLIENT_FLAGS_H

#include "client-lib/cuda/session/box_session.h"

// Waits until the flag reaches VALUE. Spins as long as the link's receiver would, then queries the
// box, which may take as long as the GPU's work and returns its error. SIZE: that of the flag's
// block; 0: the caller waits for all earlier work.
CUresult wait_flag(struct box_session *session, uint32_t index, uint32_t value, uint32_t size,
                   CUstream stream);

// A flag that one waiter holds exclusively, and the value that it waits for. The holder does not
// give it back while it may still be written.
struct fence_hold {
    uint32_t index, value;
};
bool fence_take(struct box_session *session, struct fence_hold *fence);
void fence_give(struct box_session *session, const struct fence_hold *fence);

// Waits until the GPU has done all earlier work of the stream.
CUresult copy_fence(struct box_session *session, CUstream stream);

#endif
