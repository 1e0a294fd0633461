// SPDX-License-Identifier: BSD-3-Clause
// Implements memory of allocation nodes. It has its address while a node or executable graph refers
// to it. Physical memory exists from the run of the allocation until a node or the program frees
// it. Memory charged to the device stays charged until it is trimmed.
#ifndef SIM_GRAPH_GRAPH_MEMORY_H
#define SIM_GRAPH_GRAPH_MEMORY_H

#include "sim/engine/device.h"

struct graph_memory;
struct exec_plan;

// Called under graph_mutex.
CUresult graph_memory_create(struct device *device, size_t size, struct graph_memory **out);
struct graph_memory *graph_memory_find(CUdeviceptr address); // counted; NULL if there is none
struct graph_memory *graph_memory_hold(struct graph_memory *memory);
void graph_memory_put(struct graph_memory *memory); // needs no lock
CUdeviceptr graph_memory_address(const struct graph_memory *memory);

// Creates the claim of a launch when it is queued: charges what is not yet charged, and records
// which memory will be allocated and which free. Returns INVALID_VALUE if memory is still
// allocated, unless `free_first` is set, or OUT_OF_MEMORY. *out is NULL if the launch neither
// allocates nor frees. Called under graph_mutex.
struct memory_claim;
CUresult memory_claim_create(struct exec_plan *plan, bool free_first, struct memory_claim **out);
// Charges in advance, for an upload.
CUresult memory_claim_upload(struct exec_plan *plan);
// Do the work of allocation and free nodes. A free may have a NULL claim.
void memory_claim_open(struct memory_claim *claim, struct graph_memory *memory);
void graph_memory_close(struct graph_memory *memory);
// Ends the claim after the run. Allocations that did not run count as free.
void memory_claim_end(struct memory_claim *claim);

#endif
