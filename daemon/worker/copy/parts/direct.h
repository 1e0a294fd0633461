// SPDX-License-Identifier: BSD-3-Clause
// GPUDirect RDMA: the RDMA device accesses the GPU's memory directly.
#ifndef RGPU_WORKER_DIRECT_H
#define RGPU_WORKER_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "worker_driver.h"

// Minimum bytes of a direct copy, unless a path is forced. For shorter ones registration costs more
// than it saves.
enum { DIRECT_LEAST = 64 << 10 };

// An allocation that is registered with the RDMA device. It stays registered while a move holds it.
struct direct_region;

// A transfer to or from SIZE bytes of GPU memory at ADDRESS in CONTEXT, the current context.
struct direct_move {
    struct link *link; // link whose device transfers the bytes
    CUdeviceptr address;
    uint64_t size;
    CUcontext context;
    bool exposed; // the peer's device accesses the memory
};
// Returns true if the memory is registered or can be registered.
bool direct_may_hold(const struct direct_move *move);
// Returns the registered memory of a move, and registers it if necessary. The caller must call
// direct_release(). NULL: settings or memory require staging blocks.
struct direct_region *direct_hold(const struct direct_move *move);
// As direct_hold(), only if the memory is registered already; else returns NULL.
struct direct_region *direct_hold_registered(const struct direct_move *move);
// Watches contexts, to unregister their memory. Must be called before the first move, and after all
// other context watchers are registered, because those make pending moves fail, for which this one
// waits.
void direct_start(void);
// Must be called before LINK is freed, when it has no transfers in flight.
void direct_forget_link(const struct link *link);
// Returns how memory was registered, or why that failed; "" if it was never tried.
const char *direct_means(void);
// Must be called before the memory at START or its context is freed. Waits for copies that use the
// memory.
void direct_forget(CUdeviceptr start);
void direct_release(struct direct_region *region);
// Return the region for local transfers, and its key for the peer.
struct link_registered *direct_registered(const struct direct_region *region);
uint32_t direct_key(const struct direct_region *region);
// Makes writes of the RDMA device visible to the GPU. The memory's context must be current.
CUresult direct_flush(void);

#endif
