// SPDX-License-Identifier: BSD-3-Clause
// Regions: ranges of host memory of this process that the box maps, accesses by RDMA or mirrors. A
// number identifies each region in requests. Any thread may call.
#ifndef RGPU_CLIENT_REGIONS_H
#define RGPU_CLIENT_REGIONS_H

#include <stdint.h>

// Returns an unused number, which the caller frees with region_give; 0 after a warning in the log
// if the limit of regions is reached.
uint32_t region_take(void);
// Frees NUMBER. Called after the box has released the memory. Does nothing if NUMBER is 0.
void region_give(uint32_t number);

#endif
