// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_OCCUPANCY_H
#define SIM_OCCUPANCY_H

#include <stddef.h>

struct function;

// Returns how many blocks of BLOCK_SIZE threads and DYNAMIC_SHARED bytes a multiprocessor runs at
// once; 0 if a block does not fit.
int occupancy_blocks(const struct function *function, int block_size, size_t dynamic_shared);

#endif
