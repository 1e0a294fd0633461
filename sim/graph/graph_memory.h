// SPDX-License-Identifier: BSD-3-Clause
// Memory of allocation nodes. Its address is fixed while a node or executable graph refers to it.
// It has physical memory from the allocation until a free node or the program frees it. The device
// stays charged until the memory is trimmed.
#ifndef SIM_GRAPH_GRAPH_MEMORY_H
#define SIM_GRAPH_GRAPH_MEMORY_H

#include "sim/engine/device.h"

struct graph_memory;
struct exec_plan;

// The caller holds graph_mutex.
CUresult graph_memory_create(struct device *device, size_t size, struct graph_memory **out);
struct graph_memory *graph_memory_find(CUdeviceptr address); // new reference; NULL if there is none
void graph_memory_put(struct graph_memory *memory);          // needs no lock
CUdeviceptr graph_memory_address(const struct graph_memory *memory);

// Prepares the memory of a launch when it is queued: charges the device, and records which memory
// the launch allocates and frees. Returns OUT_OF_MEMORY, or INVALID_VALUE if memory is still
// allocated and `free_first` is not set. *OUT is NULL if the launch does neither. The caller holds
// graph_mutex.
struct memory_claim;
CUresult memory_claim_create(struct exec_plan *plan, bool free_first, struct memory_claim **out);
// Charges the device for the memory of a first launch.
CUresult memory_claim_upload(struct exec_plan *plan);
// Execute allocation and free nodes. CLAIM may be NULL for a free.
void memory_claim_open(struct memory_claim *claim, struct graph_memory *memory);
void graph_memory_close(struct graph_memory *memory);
// Frees the claim after the launch. Memory of allocations that did not run is free again.
void memory_claim_end(struct memory_claim *claim);

#endif
