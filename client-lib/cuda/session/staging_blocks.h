// SPDX-License-Identifier: BSD-3-Clause
// Manages a session's staging blocks: memory that the box reads and writes too, for copies of
// ordinary memory.
//
// Each block has a completion flag. When the GPU has completed a block's work in its stream, it
// writes the number of that use to the flag; then the block is free again. An asynchronous copy
// from the GPU leaves its data in blocks if the destination may still be in use. That data is
// pending (pending delivery): it is copied to the destination after a call has learned that the GPU
// is done.
#ifndef RGPU_CLIENT_STAGING_BLOCKS_H
#define RGPU_CLIENT_STAGING_BLOCKS_H

#include "client-lib/cuda/session/box_session.h"

enum { FENCE_FLAGS = 512 }; // flags without a block, which show how far a stream has come

struct staging_block {
    enum { BLOCK_FREE, BLOCK_FILLING, BLOCK_SENT, BLOCK_PENDING } state;
    uint32_t use;     // value of its flag when the GPU is done with it
    uint64_t taken;   // sequence number of this use among uses of all blocks
    CUstream stream;  // of its present use
    void *pending_to; // BLOCK_PENDING: destination of its data after arrival
    uint32_t size;
    struct staging_block *next; // in staging.pending, oldest first
};

struct staging {
    pthread_mutex_t lock; // protects the states and the list of blocks with pending deliveries
    uint32_t count;
    uint32_t size;
    uint32_t next;               // follows the block that was taken last
    uint64_t takes;              // uses of all blocks so far
    _Atomic uint32_t us_per_mib; // speed of waits for a flag, if they are long
    struct staging_block *pending, **pending_end;
    _Atomic unsigned int pending_count; // read without lock
    struct fence_flag {
        _Atomic bool taken; // a thread waits for it
        uint32_t value;     // value of the latest wait
    } fences[FENCE_FLAGS];
    struct staging_block blocks[];
};

// Prepares a new session for copies. Returns 0, or -1 with *ERROR.
int staging_start(struct box_session *session, struct session_error *error);

uint32_t block_index(const struct staging *staging, const struct staging_block *block);
void *block_memory(const struct box_session *session, const struct staging_block *block);
// Returns the box's name for the block's memory.
uint64_t block_name(const struct box_session *session, const struct staging_block *block);
// Returns true if the flag has reached VALUE.
bool flag_reached(const struct box_session *session, uint32_t index, uint32_t value);
// Returns true if the flag requests that the waiter for VALUE query the box.
bool flag_says_ask(const struct box_session *session, uint32_t index, uint32_t value);

// Returns a free block, which belongs to the caller until it sets another state. Returns NULL if
// there is none; then *AWAITED is a copy of a block to wait for, with the bytes of all blocks that
// this wait covers, and *INDEX is its number, or -1 if other threads are filling all blocks.
struct staging_block *block_find_free(struct box_session *session, struct staging_block *awaited,
                                      int *index);
void block_set(struct box_session *session, struct staging_block *block, int state);
// Releases the block of a failed request by setting its flag.
void block_abandon(struct box_session *session, struct staging_block *block);
// Marks the block's data for delivery to TO after arrival.
void block_owe(struct box_session *session, struct staging_block *block, void *to);

// Delivers data that has arrived. Called whenever a call learns that GPU work is complete.
void staging_deliver(struct box_session *session);
// Returns true if any delivery is pending.
bool staging_pending(const struct box_session *session);

#endif
