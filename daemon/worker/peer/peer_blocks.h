// SPDX-License-Identifier: BSD-3-Clause
// The staging blocks of a peer link: memory that the GPU and we share, where data waits on its way
// between the GPU and the other box (peer_blocks.c). All under the lock of peer_link.h.
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

// A block belongs to the thread that took it, until it is given back.
struct peer_block {
    uint8_t *data; // WIRE_BLOCK_SIZE
    bool incoming, idle;
    // of an incoming block: its number; of another: which of the other end's it goes to, or is
    uint32_t slot;
    uint64_t offset; // in the copy, packed
    uint32_t size;
    struct completion completion; // recorded after the copy between the block and the GPU
    void *source;                 // memory of the GPU that is written instead of DATA; NULL: none
    bool flies;                   // of a put: there is such a copy
    struct wire_far_put put;      // of one that has come
    struct peer_job *job;         // whose it is while it is written
    struct peer_block *next;
};

// A queue of blocks.
struct peer_queue {
    struct peer_block *first, *last;
};

struct peer_blocks {
    uint8_t *memory;
    size_t size;
    bool shared;          // what goes out is put into the other end's incoming blocks at once
    CUcontext registered; // in which the GPU knows the memory; NULL: it does not
    struct peer_block *idle_out;
    struct peer_block out[PEER_IN_BLOCKS], in[PEER_IN_BLOCKS];
};

// -ENOMEM.
int peer_blocks_make(struct peer_blocks *blocks) __attribute__((warn_unused_result));
// MEMORY, which both ends map, instead; one of them is the FIRST. For 2 * PEER_IN_BLOCKS blocks.
void peer_blocks_share(struct peer_blocks *blocks, void *memory, bool first);
void peer_blocks_free(struct peer_blocks *blocks);
// NULL: all are taken.
struct peer_block *peer_block_take(struct peer_blocks *blocks);
// An incoming one: any, or, where the sender chooses, that SLOT. NULL: it is taken.
struct peer_block *peer_block_take_any(struct peer_blocks *blocks);
struct peer_block *peer_block_take_slot(struct peer_blocks *blocks, uint32_t slot);
void peer_block_give(struct peer_blocks *blocks, struct peer_block *block);
// CONTEXT is current: the GPU is to reach the memory without a copy by the driver.
void peer_blocks_register(struct peer_blocks *blocks, CUcontext context);
// Records the block's event in STREAM of CONTEXT, which is current.
CUresult peer_block_record(struct peer_block *block, CUcontext context, CUstream stream);
// Returns CUDA_ERROR_NOT_READY while the copy of the block is in flight.
CUresult peer_block_ask(const struct peer_block *block);
// CONTEXT is current: what the driver needs for marks there is made now.
CUresult peer_blocks_warm(struct peer_blocks *blocks, CUcontext context);
// CONTEXT, which is current, goes.
void peer_blocks_forget(struct peer_blocks *blocks, CUcontext context);

#endif
