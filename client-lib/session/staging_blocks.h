// SPDX-License-Identifier: BSD-3-Clause
// The staging blocks of a session whose link has any: memory that the box reads and writes as well, through
// which the data of ordinary memory passes.
//
// Each block has a completion flag. When a block's turn in its stream is over, the GPU writes the number of
// that use to the flag, and the block may be used again. An asynchronous copy from the GPU to memory that
// may still be in use leaves its data in blocks which are owed to that memory: they are delivered once a
// call has learned that the GPU is done with them.
#ifndef RGPU_CLIENT_STAGING_BLOCKS_H
#define RGPU_CLIENT_STAGING_BLOCKS_H

#include "client-lib/session/box_session.h"

enum { FENCE_FLAGS = 512 }; // flags of no block, by which threads learn how far a stream has come

struct staging_block {
    enum { BLOCK_FREE, BLOCK_FILLING, BLOCK_SENT, BLOCK_OWED } state;
    uint32_t use;    // value that its flag takes when the GPU is done with it
    uint64_t taken;  // number of its present use among those of all blocks
    CUstream stream; // of its present use
    void *owed_to;   // BLOCK_OWED: where its data is to go once it has arrived
    uint32_t size;
    struct staging_block *next; // in staging.owed, oldest first
};

struct staging {
    pthread_mutex_t lock; // of the states and of what is owed
    uint32_t count;
    uint32_t size;
    uint32_t next;               // behind the block that was taken last
    uint64_t takes;              // of any block, so far
    _Atomic uint32_t us_per_mib; // how long a waiter for a flag waits, where that is long
    struct staging_block *owed, **owed_end;
    _Atomic unsigned int owed_count; // read without lock
    struct fence_flag {
        _Atomic bool taken; // by a thread that waits for it
        uint32_t value;     // which the last one has waited for
    } fences[FENCE_FLAGS];
    struct staging_block blocks[];
};

// Prepares a new session for copies. 0, or -1 with *error.
int staging_start(struct box_session *session, struct session_error *error);

uint32_t block_index(const struct staging *staging, const struct staging_block *block);
void *block_memory(const struct box_session *session, const struct staging_block *block);
// The name under which the box knows the block's memory.
uint64_t block_name(const struct box_session *session, const struct staging_block *block);
// Whether the flag has come to VALUE, or beyond.
bool flag_reached(const struct box_session *session, uint32_t index, uint32_t value);
// Whether the box says by it that who waits for VALUE is to ask.
bool flag_says_ask(const struct box_session *session, uint32_t index, uint32_t value);

// A free block, which is the caller's until it sets another state; NULL where there is none. Then *AWAITED is
// a copy of one to wait for, with the bytes of all that this waits for, and *INDEX its number, or -1: other
// threads are filling all of them.
struct staging_block *block_find_free(struct box_session *session, struct staging_block *awaited,
                                      int *index);
void block_set(struct box_session *session, struct staging_block *block, int state);
// A request that failed leaves the block unused: its flag is set by hand.
void block_abandon(struct box_session *session, struct staging_block *block);
// The block's data goes to TO once it has arrived.
void block_owe(struct box_session *session, struct staging_block *block, void *to);

// Moves what has arrived. Called whenever a call has learnt that work of the GPU is complete.
void staging_deliver(struct box_session *session);
// Whether anything is owed.
bool staging_owed(const struct box_session *session);

#endif
