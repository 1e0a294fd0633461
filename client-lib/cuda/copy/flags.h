// SPDX-License-Identifier: BSD-3-Clause
// Waits until the GPU has reached a point in a stream. If the link has flags (words that the GPU
// writes and this process reads), the wait reads a flag, else it queries the box. Thread-safe.
#ifndef RGPU_CLIENT_FLAGS_H
#define RGPU_CLIENT_FLAGS_H

#include "client-lib/cuda/session/box_session.h"

// Waits until the flag INDEX reaches VALUE. Spins for the session's spin time, then synchronizes
// with STREAM through the box, which returns the error of the GPU's work. SIZE: bytes in the flag's
// block; 0 if the flag has no block.
CUresult wait_flag(struct box_session *session, uint32_t index, uint32_t value, uint32_t size,
                   CUstream stream);

// A flag that one thread holds exclusively, and the value for which it waits. While the box may
// still write the flag, the thread must not call fence_give.
struct fence_hold {
    uint32_t index, value;
};
// Takes an unused flag and a new value for it. Returns false if all FENCE_FLAGS are in use.
bool fence_take(struct box_session *session, struct fence_hold *fence);
void fence_give(struct box_session *session, const struct fence_hold *fence);

// Waits until the GPU has completed all earlier work of STREAM. Returns the error of that work.
CUresult copy_fence(struct box_session *session, CUstream stream);

#endif
