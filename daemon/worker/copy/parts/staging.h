// SPDX-License-Identifier: BSD-3-Clause
// The staging blocks of a session: data of copies to the GPU wait there for the GPU, data of copies
// from the GPU for the link.
#ifndef RGPU_WORKER_STAGING_H
#define RGPU_WORKER_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"
#include "daemon/worker/core/completion.h"

// STAGING_SMALL: small copies with their data inside a record; over a byte stream only those to the
// GPU.
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

// Divides region 0 for a link with one-sided access to the client's memory: half for each
// direction, less a sixteenth for small copies.
void staging_prepare_reached(void);
// Divides region 0 for a byte stream: a quarter for pulls, as the kernel's buffers hold their data,
// too, and a sixteenth for small copies. Blocks have at least WIRE_BLOCK_SIZE, which clients send.
void staging_prepare_streamed(void);
uint32_t staging_block_size(enum staging_use use);
uint32_t staging_blocks(enum staging_use use); // number of blocks
// Takes a free block. If there is none, waits if WAIT, else returns NULL.
struct block *staging_take(enum staging_use use, bool wait);
// Takes a free block if more than KEEP are free, else returns NULL.
struct block *staging_take_spare(enum staging_use use, unsigned keep);
void staging_give(struct block *block);
// Records the block's event in STREAM of the current context CONTEXT.
CUresult staging_record(struct block *block, CUcontext context, CUstream stream);
// Returns true if the copy of the block has ended; *RESULT is its result.
bool staging_done(struct block *block, CUresult *result);

#endif
