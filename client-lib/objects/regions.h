// SPDX-License-Identifier: BSD-3-Clause
// Numbers by which the box knows host memory of this process. Any thread may call.
#ifndef RGPU_CLIENT_REGIONS_H
#define RGPU_CLIENT_REGIONS_H

#include <stdint.h>

// Returns a number that is free, from now on taken; 0: as many are taken as there may be.
uint32_t region_take(void);
// The box no longer knows memory by NUMBER. 0 is no region, and may be given.
void region_give(uint32_t number);

#endif
