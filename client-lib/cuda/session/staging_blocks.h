// SPDX-License-Identifier: BSD-3-Clause
// Manages a session's staging blocks: memory that both this process and the box read and write, for
// copies of ordinary (pageable) memory.
//
// Each block has a completion flag. When the GPU has completed a block's work in its stream, it
// writes the number of that use to the flag; then the block is free again. An asynchronous copy
// from the GPU leaves its data in blocks if the destination may still be in use. The delivery of
// that data is pending: this process copies it to the destination after a call has detected that
// the GPU is done.
#ifndef RGPU_CLIENT_STAGING_BLOCKS_H
#define RGPU_CLIENT_STAGING_BLOCKS_H

#include "client-lib/cuda/session/box_session.h"

enum { FENCE_FLAGS = 512 }; // flags without a block, for waits until a stream reaches a point

struct staging_block {
    // FREE; FILLING: a thread has taken the block; SENT: the block is free when its flag reaches
    // `use`; PENDING: then its data must be copied to `pending_to`.
    enum { BLOCK_FREE, BLOCK_FILLING, BLOCK_SENT, BLOCK_PENDING } state;
    uint32_t use;               // value of its flag when the GPU is done with it
    uint64_t taken;             // sequence number of this use among uses of all blocks
    CUstream stream;            // stream of its present use
    void *pending_to;           // BLOCK_PENDING: destination in the program's memory
    uint32_t size;              // bytes of its present use
    struct staging_block *next; // in staging.pending, oldest first
};

struct staging {
    pthread_mutex_t lock; // protects the states and the list of blocks with pending deliveries
    uint32_t count;       // number of blocks
    uint32_t size;        // bytes of a block
    uint32_t next;        // number of the block after the one that was taken last
    uint64_t takes;       // uses of all blocks so far
    _Atomic uint32_t us_per_mib;                  // usual duration of long waits for a flag
    struct staging_block *pending, **pending_end; // blocks with pending deliveries, oldest first
    _Atomic unsigned int pending_count;           // number of these; read without lock
    struct fence_flag {
        _Atomic bool taken; // a thread waits for it
        uint32_t value;     // value of the latest wait
    } fences[FENCE_FLAGS];
    struct staging_block blocks[];
};

// Allocates session->blocks for a new session. Returns 0, or -1 with *ERROR.
int staging_start(struct box_session *session, struct session_error *error);

// Returns the block's number, which is also that of its flag.
uint32_t block_index(const struct staging *staging, const struct staging_block *block);
// Returns this process's address of the block's memory.
void *block_memory(const struct box_session *session, const struct staging_block *block);
// Returns the value that names the block's memory in requests to the box.
uint64_t block_name(const struct box_session *session, const struct staging_block *block);
// Returns true if the flag INDEX has reached VALUE.
bool flag_reached(const struct box_session *session, uint32_t index, uint32_t value);
// Returns true if the box, through the flag INDEX, requests that the thread that waits for VALUE
// query the box instead.
bool flag_says_ask(const struct box_session *session, uint32_t index, uint32_t value);

// Returns a free block, which belongs to the caller until it sets another state. Returns NULL if
// there is none; then *AWAITED is a copy of a block to wait for, its `size` is that of all blocks
// that this wait covers, and *INDEX is its number, or -1 if other threads are filling all blocks.
struct staging_block *block_find_free(struct box_session *session, struct staging_block *awaited,
                                      int *index);
// Sets the state of a block.
void block_set(struct box_session *session, struct staging_block *block, int state);
// Releases the block of a failed request: sets its flag, because the GPU will not.
void block_abandon(struct box_session *session, struct staging_block *block);
// Makes the delivery of the block's data to TO, which the program owns, pending.
void block_owe(struct box_session *session, struct staging_block *block, void *to);

// Copies the data of pending deliveries that has arrived to its destinations. Called whenever a
// call has detected that GPU work is complete.
void staging_deliver(struct box_session *session);
// Returns true if any delivery is pending.
bool staging_pending(const struct box_session *session);

#endif
