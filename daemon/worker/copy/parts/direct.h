// SPDX-License-Identifier: BSD-3-Clause
// GPUDirect RDMA (direct.c): the RDMA device reads and writes the GPU's memory itself.
#ifndef RGPU_WORKER_DIRECT_H
#define RGPU_WORKER_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "worker_driver.h"

// Copies of at least that many bytes are direct unless another path is forced. For shorter ones
// registration would cost more than it saves.
enum { DIRECT_LEAST = 64 << 10 };

// One allocation that is registered with the device. It stays registered while a move holds it.
struct direct_region;

// A transfer to or from SIZE bytes of GPU memory at ADDRESS, which belongs to CONTEXT, the current
// context.
struct direct_move {
    struct link *link; // its device transfers the bytes
    CUdeviceptr address;
    uint64_t size;
    CUcontext context;
    bool exposed; // the peer's device accesses the memory
};
// Returns true if the memory is registered or can be.
bool direct_may_hold(const struct direct_move *move);
// Returns the registered memory of MOVE, held until direct_release; registers the allocation if it
// is not registered yet. NULL: the settings or the memory require staging blocks.
struct direct_region *direct_hold(const struct direct_move *move);
// Does the same only if the allocation is registered already; else returns NULL.
struct direct_region *direct_hold_registered(const struct direct_move *move);
// Starts to watch contexts, whose memory is unregistered when they end. Called before the first
// move, and after all other context watchers are registered: those make pending moves fail, for
// which this one waits.
void direct_start(void);
// Called before LINK is freed, when it has no move in flight.
void direct_forget_link(const struct link *link);
// Returns how memory was registered, or why it was not; empty if that was never tried.
const char *direct_means(void);
// Called before the memory at START or its context is freed. Waits for copies that use the memory.
void direct_forget(CUdeviceptr start);
void direct_release(struct direct_region *region);
// Return the region's names for transfers and for the peer.
struct link_registered *direct_registered(const struct direct_region *region);
uint32_t direct_key(const struct direct_region *region);
// Makes the device's writes visible to the GPU. The context of the memory is current.
CUresult direct_flush(void);

#endif
