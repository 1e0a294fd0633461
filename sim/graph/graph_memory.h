// SPDX-License-Identifier: BSD-3-Clause
// Memory of allocation nodes. It has its address as long as a node or an executable graph knows it,
// and there is something behind the address from the run of the allocation until it is freed, by a
// node or by the program. What has been charged to the device stays charged until it is trimmed.
#ifndef SIM_GRAPH_GRAPH_MEMORY_H
#define SIM_GRAPH_GRAPH_MEMORY_H

#include "sim/device.h"

struct graph_memory;
struct exec_plan;

// Under graph_mutex.
CUresult graph_memory_create(struct device *device, size_t size, struct graph_memory **out);
struct graph_memory *graph_memory_find(CUdeviceptr address); // held; NULL
struct graph_memory *graph_memory_hold(struct graph_memory *memory);
void graph_memory_put(struct graph_memory *memory); // from anywhere
CUdeviceptr graph_memory_address(const struct graph_memory *memory);

// What one launch allocates. Under graph_mutex, when it is queued: charges what is not yet charged,
// and says what will be free and what not. INVALID_VALUE: something is allocated and nobody has
// freed it, unless `free_first`; OUT_OF_MEMORY. *out is NULL where there is nothing to allocate or free.
struct memory_claim;
CUresult memory_claim_create(struct exec_plan *plan, bool free_first, struct memory_claim **out);
// Charges ahead, as an upload does.
CUresult memory_claim_upload(struct exec_plan *plan);
// The nodes' work. The claim may be NULL in the free.
void memory_claim_open(struct memory_claim *claim, struct graph_memory *memory);
void graph_memory_close(struct graph_memory *memory);
// After the run: what it did not come to is not allocated.
void memory_claim_end(struct memory_claim *claim);

#endif
