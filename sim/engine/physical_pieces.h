// SPDX-License-Identifier: BSD-3-Clause
// Physical memory of cuMemCreate, which cuMemMap maps. Each allocation is a memory file, so that
// several mappings and processes can share it.
#ifndef SIM_PHYSICAL_PIECES_H
#define SIM_PHYSICAL_PIECES_H

#include "sim/engine/device.h"

struct sim_physical;

// Returns the minimum or the recommended allocation granularity in bytes.
size_t sim_physical_granularity(CUmemAllocationGranularity_flags option);

// Returns the memory of a handle with a new reference. Returns INVALID_VALUE.
CUresult sim_physical_get(CUmemGenericAllocationHandle handle, struct sim_physical **out);
void sim_physical_hold(struct sim_physical *physical);
void sim_physical_put(struct sim_physical *physical);
// Adds a use of the memory's handle. Creates a new handle if the program has released the last one.
CUresult sim_physical_retain(struct sim_physical *physical, CUmemGenericAllocationHandle *handle);

struct device *sim_physical_device(const struct sim_physical *physical);
size_t sim_physical_size(const struct sim_physical *physical);
// Returns true if the memory can only be mapped to tiles of arrays.
bool sim_physical_is_tile_pool(const struct sim_physical *physical);
int sim_physical_file(const struct sim_physical *physical);
unsigned sim_physical_handle_types(const struct sim_physical *physical);

#endif
