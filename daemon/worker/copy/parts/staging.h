// SPDX-License-Identifier: BSD-3-Clause
// Staging blocks of a session: data of copies wait there for the GPU or for the link.
#ifndef RGPU_WORKER_STAGING_H
#define RGPU_WORKER_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"
#include "daemon/worker/core/completion.h"

// STAGING_SMALL: small copies with data in a record; over a byte stream only those to the GPU.
enum staging_use { STAGING_PUSH, STAGING_PULL, STAGING_SMALL, STAGING_USES };

// A block belongs to one thread between take and give.
struct block {
    enum staging_use use;
    uint8_t *data;
    struct completion completion; // recorded after the GPU copy that uses the block
    struct block *next;
};

enum {
    STAGING_POOL_MAX = 512,
    STAGING_BLOCKS_MAX = STAGING_USES * STAGING_POOL_MAX,
};

// Divides region 0 for a link with direct access to the client's memory: a sixteenth for small
// copies, and the rest in halves for the two directions.
void staging_prepare_reached(void);
// Divides region 0 for a byte stream: a quarter for pulls, because kernel buffers hold their data
// too, and a sixteenth for small copies. Blocks have at least the WIRE_BLOCK_SIZE bytes that
// clients send.
void staging_prepare_streamed(void);
uint32_t staging_block_size(enum staging_use use);
uint32_t staging_blocks(enum staging_use use); // number of blocks
// Takes a free block. If there is none, waits if WAIT is set, else returns NULL.
struct block *staging_take(enum staging_use use, bool wait);
// Takes a free block if more than KEEP are free; else returns NULL.
struct block *staging_take_spare(enum staging_use use, unsigned keep);
void staging_give(struct block *block);
// Records the block's event in STREAM of CONTEXT, the current context.
CUresult staging_record(struct block *block, CUcontext context, CUstream stream);
// Returns true if the GPU copy of the block has ended. *RESULT is its result.
bool staging_done(struct block *block, CUresult *result);

#endif
