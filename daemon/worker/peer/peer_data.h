// SPDX-License-Identifier: BSD-3-Clause
// Moves the bytes of copies between boxes block by block: from the GPU into blocks, over the link,
// and from blocks into the GPU. Called by the peer_mover's thread with its lock held.
#ifndef RGPU_WORKER_PEER_DATA_H
#define RGPU_WORKER_PEER_DATA_H

#include "daemon/worker/peer/peer_job.h"

// Does what can be done now for a copy that the client has requested. Returns true if there was
// progress.
bool peer_data_advance(struct peer_job *job);
// BLOCK is in the memory of the other end. Blocks of a copy come here in the order in which their
// writes began.
void peer_data_written(struct peer_block *block);

// ---- also for puts ----

// Returns true if the other end has a free block.
bool peer_has_room(const struct peer_link *link);
// Begins to write BLOCK to a free block of the other end. Returns 0, or -errno if the link is down.
int peer_block_write(struct peer_link *link, struct peer_block *block);

#endif
