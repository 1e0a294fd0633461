// SPDX-License-Identifier: BSD-3-Clause
// Computes how many blocks of a function fit on a multiprocessor at once.
#ifndef SIM_OCCUPANCY_H
#define SIM_OCCUPANCY_H

#include <stddef.h>

struct function;

// Returns 0 if not even one block fits.
int occupancy_blocks(const struct function *function, int block_size, size_t dynamic_shared);

#endif
