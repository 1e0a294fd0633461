// SPDX-License-Identifier: BSD-3-Clause
// How many blocks of a function fit on a multiprocessor at once.
#ifndef SIM_OCCUPANCY_H
#define SIM_OCCUPANCY_H

#include <stddef.h>

struct function;

// 0 when not even one fits.
int occupancy_blocks(const struct function *function, int block_size, size_t dynamic_shared);

#endif
