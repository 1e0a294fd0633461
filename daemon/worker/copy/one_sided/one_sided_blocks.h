// SPDX-License-Identifier: BSD-3-Clause
// The sizes of the blocks that moves are cut into (one_sided_blocks.c).
#ifndef RGPU_WORKER_ONE_SIDED_BLOCKS_H
#define RGPU_WORKER_ONE_SIDED_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/copy/one_sided/one_sided.h"

// All under the mover's lock.

// PATH_BITs of the blocks that make a difference to a move.
unsigned one_sided_blocks_paths(enum move_kind kind, uint64_t size);
// Returns true if the next block of a move may begin. It may have to wait for blocks in flight of
// another size.
bool one_sided_blocks_ready(struct move *move);
// Returns the bytes of the next block of the move.
uint32_t one_sided_block_size(const struct move *move);
void one_sided_block_began(const struct move *move);
void one_sided_block_ended(const struct move *move);
// The move is over.
void one_sided_blocks_forget(const struct move *move);

#endif
