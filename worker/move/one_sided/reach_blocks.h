// SPDX-License-Identifier: BSD-3-Clause
// The sizes of the blocks that moves are cut into (reach_blocks.c).
#ifndef RGPU_WORKER_REACH_BLOCKS_H
#define RGPU_WORKER_REACH_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/move/one_sided/reach.h"

// All under the mover's lock.
void reach_blocks_start(void);
// Whether the next block of a move may begin; where sizes are measured it may have to wait for those
// that are under way.
bool reach_blocks_ready(const struct move *move);
// How much the next block of the move takes.
uint32_t reach_block_size(const struct move *move);
void reach_block_began(const struct move *move, uint32_t size);
void reach_block_ended(const struct move *move, uint32_t size);

#endif
