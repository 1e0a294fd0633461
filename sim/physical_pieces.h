// SPDX-License-Identifier: BSD-3-Clause
// Device memory without an address: what cuMemCreate makes and cuMemMap gives addresses. It is a memory file,
// so that it can be mapped at several places, and by several processes.
#ifndef SIM_PHYSICAL_PIECES_H
#define SIM_PHYSICAL_PIECES_H

#include "sim/device.h"

struct sim_physical;

// Bytes in which it is made, at the least and as recommended.
size_t sim_physical_granularity(CUmemAllocationGranularity_flags option);

// By its handle, with one more reference: INVALID_VALUE.
CUresult sim_physical_get(CUmemGenericAllocationHandle handle, struct sim_physical **out);
void sim_physical_hold(struct sim_physical *physical);
void sim_physical_put(struct sim_physical *physical);
// One more use of its handle, which is made anew where the last one has been released.
CUresult sim_physical_retain(struct sim_physical *physical, CUmemGenericAllocationHandle *handle);

struct device *sim_physical_device(const struct sim_physical *physical);
size_t sim_physical_size(const struct sim_physical *physical);
// Whether it is for tiles of arrays, and for nothing else.
bool sim_physical_is_tile_pool(const struct sim_physical *physical);
int sim_physical_file(const struct sim_physical *physical);
unsigned sim_physical_handle_types(const struct sim_physical *physical);

#endif
