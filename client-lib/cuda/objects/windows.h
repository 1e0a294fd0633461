// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory of one box's GPU that the GPU of another box on the same host can access. Copies
// between the two are then ordinary copies of one GPU.
#ifndef RGPU_CLIENT_WINDOWS_H
#define RGPU_CLIENT_WINDOWS_H

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"

// Offers memory that the program has just allocated to nearby boxes, if there are any.
void windows_show(const struct allocation *memory);
// Finds the address *THERE at which CONTEXT can access the memory at ADDRESS, which belongs to a
// nearby box that is connected by the link PEER. Returns how many bytes it can access from there;
// 0: it has no access.
uint64_t windows_reach(uint32_t peer, const struct object *context, CUdeviceptr address,
                       CUdeviceptr *there);
// Called before the memory at BASE is freed or unmapped.
void windows_forget(uint64_t base);
// Called when the link PEER is given up: its ends lose the access to each other's memory.
void windows_forget_link(uint32_t peer);
// Forgets a context that has ended, and its memory.
void windows_forget_context(uint64_t context);

#endif
