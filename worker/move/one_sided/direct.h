// SPDX-License-Identifier: BSD-3-Clause
// GPUDirect RDMA (direct.c): the RDMA device reads and writes the GPU's memory itself.
#ifndef RGPU_WORKER_DIRECT_H
#define RGPU_WORKER_DIRECT_H

#include <stdint.h>

#include "worker/move/one_sided/reach.h"
#include "worker_driver.h"

// The memory of one allocation, registered with the device. A move that has it holds it.
struct direct_region;

// The registered memory that SIZE bytes from ADDRESS lie in, for a move of that kind; NULL: the move
// goes by staging blocks, because of its size, the settings, or the memory. Registers an allocation
// when it is first asked for. CONTEXT is current.
struct direct_region *direct_hold(enum move_kind kind, CUdeviceptr address, uint64_t size,
                                  CUcontext context);
// Before the first move: memory of a context that goes is given back when no move uses it any more.
void direct_start(void);
// Before memory is freed, or the context that it is of: waits for copies that use it (direct.c).
void direct_forget(CUdeviceptr start);
void direct_release(struct direct_region *region);
// How a transfer names it.
struct link_registered *direct_registered(const struct direct_region *region);
// Makes what the device wrote visible to the GPU; the move's context is current.
CUresult direct_flush(void);

#endif
