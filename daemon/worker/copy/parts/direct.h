// SPDX-License-Identifier: BSD-3-Clause
// GPUDirect RDMA (direct.c): the RDMA device reads and writes the GPU's memory itself.
#ifndef RGPU_WORKER_DIRECT_H
#define RGPU_WORKER_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "worker_driver.h"

// Copies of that many bytes are direct unless another path is forced; registration costs more than
// a shorter one saves.
enum { DIRECT_LEAST = 64 << 10 };

// The memory of one allocation, registered with the device. A move that has it holds it.
struct direct_region;

// A move to or from SIZE bytes at ADDRESS, of CONTEXT, which is current.
struct direct_move {
    struct link *link; // whose device does it
    CUdeviceptr address;
    uint64_t size;
    CUcontext context;
    bool exposed; // the peer does it
};
// Returns true if the move's memory is registered or may be.
bool direct_may_hold(const struct direct_move *move);
// The registered memory of a move; NULL: it goes by staging blocks, because of the settings or the
// memory. Registers an allocation when it is first asked for.
struct direct_region *direct_hold(const struct direct_move *move);
// The same of memory that is registered already.
struct direct_region *direct_hold_registered(const struct direct_move *move);
// Before the first move, and behind others who watch contexts, as it waits for moves that are to
// fail first: memory of a context that goes is given back when no move uses it any more.
void direct_start(void);
// Before the link goes, when no move of it is under way.
void direct_forget_link(const struct link *link);
// By what means memory was registered, or why none was; empty where that has not been tried.
const char *direct_means(void);
// Before memory is freed, or the context that it is of: waits for copies that use it (direct.c).
void direct_forget(CUdeviceptr start);
void direct_release(struct direct_region *region);
// Return the region's names: for a transfer, and for the peer.
struct link_registered *direct_registered(const struct direct_region *region);
uint32_t direct_key(const struct direct_region *region);
// Makes what the device wrote visible to the GPU; the move's context is current.
CUresult direct_flush(void);

#endif
