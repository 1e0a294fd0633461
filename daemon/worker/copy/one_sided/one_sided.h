// SPDX-License-Identifier: BSD-3-Clause
// Copies between the GPU and memory of the client to which the link has one-sided access
// (one_sided.c). Each copy is a move, which holds its stream on a semaphore, and has blocks in
// flight.
#ifndef RGPU_WORKER_ONE_SIDED_H
#define RGPU_WORKER_ONE_SIDED_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/copy/parts/staging.h"
#include "worker_driver.h"

// The rows of a rectangle or box, packed one after another in a block.
struct rect {
    uint64_t width;                      // bytes of a row; 0: the move has no rows
    uint64_t height;                     // rows of a plane
    uint64_t remote_pitch, remote_slice; // bytes from row to row, from plane to plane
    uint64_t device_pitch, device_slice;
};

enum move_kind { MOVE_TO_DEVICE, MOVE_FROM_DEVICE };

struct move {
    enum move_kind kind;
    CUdeviceptr device;
    uint64_t remote; // address in the client
    uint32_t key;
    uint32_t region;
    uint64_t size; // of all rows together
    struct rect box;
    uint64_t issued;   // bytes whose transfer has begun
    uint64_t copied;   // to the device: bytes whose copies have been queued
    uint64_t stored;   // from the device: bytes whose writes have been posted
    uint64_t finished; // bytes whose transfer is complete
    enum { FLAG_NONE, FLAG_WANTED, FLAG_FLYING, FLAG_TOLD } flag; // to write after the data
    uint32_t flag_index, flag_value;
    struct direct_region *direct; // the device accesses the GPU's memory; NULL: through blocks
    CUcontext context;            // NULL: it has ended
    CUevent start;                // recorded in the client's stream; NULL: see `follows`
    struct move *follows; // the previous request of the stream; this one is ready when that one is
    struct move *behind;  // an earlier move of the stream that has not ended; NULL: none is known
    bool ready;           // the stream has reached the move
    bool early;           // the data are final already, so they may be fetched before
    int semaphore;
    uint32_t value;
    CUresult result;
    unsigned flying;
    uint32_t call;                    // number of the program's call, if work is traced
    struct copied_range copied_range; // unused by direct moves, which queue no copies
    struct move *next;
};

enum inflight_stage {
    INFLIGHT_FETCHING,   // the device reads from the client
    INFLIGHT_FETCHED,    // the block is full and waits for the stream
    INFLIGHT_COPYING,    // the GPU copies
    INFLIGHT_STORING,    // the device writes to the client, or waits for space in its queue
    INFLIGHT_SIGNALLING, // the device writes a flag of the client
};

struct inflight_block {
    enum inflight_stage stage;
    bool posted;                       // all of its operations are posted to the device
    uint32_t parts_posted, parts_over; // operations that are posted, and completed
    struct move *move;                 // NULL: a signal that follows no move
    struct block *block;               // NULL: a signal, or a direct move
    uint64_t offset;
    uint32_t size;
    uint32_t index, value; // of a signal
    struct move *behind;   // of a signal: the move before it in the stream; NULL: none is known
};

enum { INFLIGHT_MAX = STAGING_BLOCKS_MAX + LINK_FLAGS };

// State that requests and the mover share.
struct one_sided {
    struct mover mover;                          // its lock protects the following members
    struct move *moves;                          // oldest first
    struct inflight_block *active[INFLIGHT_MAX]; // oldest first
    unsigned active_count;
    unsigned unready_failures; // moves that failed before their turn
    bool started;              // set before the first request
};
extern struct one_sided one_sided;

// Memory of the client, by region number. Only threads that serve requests change a region, and not
// while moves use it.
struct reached_region {
    uint64_t address, size;
    uint32_t key;
};
extern struct reached_region reached[];

int one_sided_start(void);
// Waits until all flags that the GPU has set were forwarded to the client.
void one_sided_deliver(void);
// Returns true if a copy from memory of CONTEXT has not ended. Thread-safe.
bool one_sided_any_in(CUcontext context);

// ---- called under the lock ----
void move_is_ready(struct move *move);
void move_fail(struct move *move, CUresult result);
// Forwards flag INDEX to the client after the GPU has set it to VALUE, and after the move BEHIND
// (NULL: none). Returns false if too many flags are pending.
bool signal_begin(uint32_t index, uint32_t value, struct move *behind);

// ---- one_sided_waits.c: how the mover sleeps. The caller holds the lock ----
// The first two functions release the lock meanwhile.
void one_sided_sleep(uint32_t us);
void one_sided_waits_forget(CUcontext context); // which ends, and is current
void one_sided_wake(void);

// ---- one_sided_rows.c: moves of rows, whose offsets count packed bytes ----
// Returns the bytes from OFFSET on that one block in flight may carry, at most SIZE.
uint32_t box_inflight_size(const struct move *move, uint64_t offset, uint32_t size);
// Returns the number of link operations of an in-flight block, and of its part PART.
uint32_t box_parts(const struct inflight_block *inflight);
void box_part(const struct inflight_block *inflight, uint32_t part, struct link_transfer *transfer);
// Queues the GPU's copy between the block and the device.
CUresult box_copy(const struct inflight_block *inflight, CUstream stream);

#endif
