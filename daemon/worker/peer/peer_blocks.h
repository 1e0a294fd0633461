// SPDX-License-Identifier: BSD-3-Clause
// Staging blocks of a peer link: page-locked memory for data between the GPU and the other box.
// Guarded by the lock of peer_link.h.
#ifndef RGPU_WORKER_PEER_BLOCKS_H
#define RGPU_WORKER_PEER_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "worker_driver.h"
#include "daemon/worker/core/completion.h"

enum { PEER_OUT_BLOCKS = 8, PEER_IN_BLOCKS = 16 };

struct peer_job;

// A block belongs to the thread that took it until it is given back.
struct peer_block {
    uint8_t *data; // WIRE_BLOCK_SIZE bytes
    bool incoming, idle;
    // incoming block: its number; outgoing block: number of the peer's block that it is for
    uint32_t slot;
    uint64_t offset; // offset in the packed bytes of the copy
    uint32_t size;
    struct completion completion; // recorded after the GPU copy that uses the block
    void *source;                 // GPU memory to send instead of `data`, or NULL
    bool flies;                   // put: a GPU copy that uses the block is in flight
    struct wire_far_put put;      // head of a received put
    struct peer_job *job;         // copy that it belongs to while it is being written
    struct peer_block *next;
};

// A queue of blocks.
struct peer_queue {
    struct peer_block *first, *last;
};

struct peer_blocks {
    uint8_t *memory;
    size_t size;
    bool shared;          // outgoing data are stored directly in the peer's incoming blocks
    CUcontext registered; // context in which the memory is registered; NULL: none
    struct peer_block *idle_out;
    struct peer_block out[PEER_IN_BLOCKS], in[PEER_IN_BLOCKS];
};

// Allocates the blocks. Returns 0 or -ENOMEM.
int peer_blocks_make(struct peer_blocks *blocks) __attribute__((warn_unused_result));
// Uses MEMORY, which both ends map, with 2 * PEER_IN_BLOCKS blocks. FIRST must be true at exactly
// one end.
void peer_blocks_share(struct peer_blocks *blocks, void *memory, bool first);
void peer_blocks_free(struct peer_blocks *blocks);
// Takes an outgoing block; NULL if all are in use.
struct peer_block *peer_block_take(struct peer_blocks *blocks);
// Take an incoming block: any, or number SLOT. NULL: it is in use.
struct peer_block *peer_block_take_any(struct peer_blocks *blocks);
struct peer_block *peer_block_take_slot(struct peer_blocks *blocks, uint32_t slot);
void peer_block_give(struct peer_blocks *blocks, struct peer_block *block);
// Registers the memory with the driver in CONTEXT, the current context.
void peer_blocks_register(struct peer_blocks *blocks, CUcontext context);
// Records the block's event in STREAM of CONTEXT, the current context.
CUresult peer_block_record(struct peer_block *block, CUcontext context, CUstream stream);
// Returns CUDA_ERROR_NOT_READY while the GPU copy of the block is in flight.
CUresult peer_block_ask(const struct peer_block *block);
// Creates the events of the blocks in CONTEXT, the current context.
CUresult peer_blocks_warm(struct peer_blocks *blocks, CUcontext context);
// Destroys events and registration in CONTEXT, which ends and is current.
void peer_blocks_forget(struct peer_blocks *blocks, CUcontext context);

#endif
