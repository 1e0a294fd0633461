// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory of one box's GPU that the GPU of another box on the same host (a nearby box) can
// access. A copy between the two is then an ordinary copy by one GPU. Any thread may call.
#ifndef RGPU_CLIENT_WINDOWS_H
#define RGPU_CLIENT_WINDOWS_H

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"

// Gives nearby boxes, if there are any, access to memory that the program has just allocated.
void windows_show(const struct allocation *memory);
// Finds the address *THERE at which CONTEXT can access the memory at ADDRESS of a nearby box. PEER
// is the number of the peer link between the two boxes. Returns how many bytes CONTEXT can access
// from there on; 0 if it has no access.
uint64_t windows_reach(uint32_t peer, const struct object *context, CUdeviceptr address,
                       CUdeviceptr *there);
// Ends the access of other boxes to the memory at BASE. Called before that memory is freed or
// unmapped.
void windows_forget(uint64_t base);
// Removes the windows between the boxes of the link PEER, which is given up.
void windows_forget_link(uint32_t peer);
// Removes the windows of CONTEXT (a handle), which has ended, and of its memory.
void windows_forget_context(uint64_t context);

#endif
