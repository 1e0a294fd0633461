// SPDX-License-Identifier: BSD-3-Clause
// Staging blocks of a session on a byte stream: where a push's data waits for its copy to the GPU,
// and a pull's for its way to the client.
#ifndef RGPU_WORKER_STAGING_H
#define RGPU_WORKER_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"
#include "daemon/worker/core/completion.h"

// Writes are the small copies whose data came inside a record; with a link that reaches memory also
// those that leave inside one.
enum staging_use { STAGING_PUSH, STAGING_PULL, STAGING_SMALL, STAGING_USES };

// A block is used by one thread at a time, which owns it between take and give.
struct block {
    enum staging_use use;
    uint8_t *data;
    struct completion completion; // recorded after the copy that uses the block
    struct block *next;
};

enum {
    STAGING_POOL_MAX = 512,
    STAGING_BLOCKS_MAX = STAGING_USES * STAGING_POOL_MAX,
};

// The blocks for a link that reaches memory: both directions are alike.
void staging_prepare_reached(void);
// For a byte stream: a quarter is for pulls, as the kernel's buffers hold data as well, and a
// sixteenth for small copies; a client may send blocks of the protocol's size.
void staging_prepare_streamed(void);
uint32_t staging_block_size(enum staging_use use);
uint32_t staging_blocks(enum staging_use use); // how many there are
// A free block; NULL: there is none and WAIT is not wanted.
struct block *staging_take(enum staging_use use, bool wait);
// The same without waiting, as long as KEEP others are left.
struct block *staging_take_spare(enum staging_use use, unsigned keep);
void staging_give(struct block *block);
// Records the block's event in STREAM of the current context CONTEXT.
CUresult staging_record(struct block *block, CUcontext context, CUstream stream);
// Returns true if the copy of the block is over, also if it failed.
bool staging_done(struct block *block, CUresult *result);

#endif
