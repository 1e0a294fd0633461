// SPDX-License-Identifier: BSD-3-Clause
// Windows: memory of one box's GPU that the GPU of another box on the same host reaches, so that copies between the two
// are copies of one of them.
#ifndef RGPU_CLIENT_WINDOWS_H
#define RGPU_CLIENT_WINDOWS_H

#include "client-lib/objects/addresses.h"
#include "client-lib/objects/object.h"

// The program has got this memory, and nothing uses it yet: it is shown, should another box be near.
void windows_show(const struct allocation *memory);
// The address at which CONTEXT, of a box near that of the memory, reaches what is at ADDRESS over the link PEER, and how
// many bytes from there. 0: it does not.
uint64_t windows_reach(uint32_t peer, const struct object *context, CUdeviceptr address,
                       CUdeviceptr *there);
// The memory at BASE is about to be freed, or unmapped.
void windows_forget(uint64_t base);
// The link PEER is given up: what its ends reached of each other they reach no more.
void windows_forget_link(uint32_t peer);
// A context is gone, and what was its.
void windows_forget_context(uint64_t context);

#endif
