// SPDX-License-Identifier: BSD-3-Clause
// Numbers by which the box knows host memory of this process. Any thread may call.
#ifndef RGPU_CLIENT_REGIONS_H
#define RGPU_CLIENT_REGIONS_H

#include <stdint.h>

// Takes a free number and returns it; 0: the limit is reached.
uint32_t region_take(void);
// Frees NUMBER, after the box has forgotten the memory. 0 is ignored.
void region_give(uint32_t number);

#endif
