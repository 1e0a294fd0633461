// SPDX-License-Identifier: BSD-3-Clause
// Waiting until the GPU has come to a point of a stream, by the flags that it writes where the link has
// any.
#ifndef RGPU_CLIENT_FLAGS_H
#define RGPU_CLIENT_FLAGS_H

#include "client-lib/session/box_session.h"

// Waits until the flag has come to VALUE: spins for the time that the link's receiver would, and then asks
// the box, which may take as long as the GPU does and which brings the error where there is one. SIZE: of
// the block that the flag is for; 0: the caller waits for all that is before.
CUresult wait_flag(struct box_session *session, uint32_t index, uint32_t value, uint32_t size,
                   CUstream stream);

// A flag that nobody else waits for until it is given back, and what it is to become. One that may still be written is
// not given back.
struct fence_hold {
    uint32_t index, value;
};
bool fence_take(struct box_session *session, struct fence_hold *fence);
void fence_give(struct box_session *session, const struct fence_hold *fence);

// Waits until the GPU has done what was asked of the stream so far.
CUresult copy_fence(struct box_session *session, CUstream stream);

#endif
