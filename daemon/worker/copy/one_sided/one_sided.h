// SPDX-License-Identifier: BSD-3-Clause
// Copies between the GPU and memory of the client that the link accesses by RDMA. A copy is a move:
// it holds its stream on a semaphore, and consists of in-flight blocks.
#ifndef RGPU_WORKER_ONE_SIDED_H
#define RGPU_WORKER_ONE_SIDED_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/mover.h"
#include "daemon/worker/copy/parts/staging.h"
#include "worker_driver.h"

// Rows of a rectangle or box, which are packed in a block.
struct rect {
    uint64_t width;  // bytes of a row; 0: the move is a single range
    uint64_t height; // rows of a plane
    // bytes from a row to the next, and from a plane to the next
    uint64_t remote_pitch, remote_slice;
    uint64_t device_pitch, device_slice;
};

enum move_kind { MOVE_TO_DEVICE, MOVE_FROM_DEVICE };

struct move {
    enum move_kind kind;
    CUdeviceptr device;
    uint64_t remote; // address in the client's memory
    uint32_t key;
    uint32_t region;
    uint64_t size; // bytes of all rows
    struct rect box;
    uint64_t issued;   // bytes whose transfer has begun
    uint64_t copied;   // to the device: bytes whose GPU copies are queued
    uint64_t stored;   // from the device: bytes whose RDMA writes are posted
    uint64_t finished; // bytes whose transfer is complete
    // flag of the client to write after the data
    enum { FLAG_NONE, FLAG_WANTED, FLAG_FLYING, FLAG_TOLD } flag;
    uint32_t flag_index, flag_value;
    // registered GPU memory that the RDMA device accesses; NULL: staging blocks are used
    struct direct_region *direct;
    CUcontext context;    // NULL: the context has ended
    CUevent start;        // recorded in the client's stream; NULL: see `follows`
    struct move *follows; // previous request of the stream; this move is ready when that one is
    struct move *behind;  // an earlier move of the stream that has not ended; NULL: none is known
    bool ready;           // the stream has reached the move
    // the data are final: they may be fetched before the stream reaches the move
    bool early;
    int semaphore;
    uint32_t value;
    CUresult result;
    unsigned flying;
    uint32_t call;                    // number of the program's call, for activity records
    struct copied_range copied_range; // unused by direct moves, which queue no GPU copies
    struct move *next;
};

enum inflight_stage {
    INFLIGHT_FETCHING,   // the RDMA device reads from the client
    INFLIGHT_FETCHED,    // the block is full and waits for the stream
    INFLIGHT_COPYING,    // the GPU copies
    INFLIGHT_STORING,    // the RDMA device writes to the client, or its queue is full
    INFLIGHT_SIGNALLING, // the RDMA device writes a flag of the client
};

struct inflight_block {
    enum inflight_stage stage;
    bool posted;                       // all of its RDMA operations are posted
    uint32_t parts_posted, parts_over; // number of RDMA operations posted, and completed
    struct move *move;                 // NULL: a signal without a move
    struct block *block;               // NULL: a signal, or a direct move
    uint64_t offset;
    uint32_t size;
    uint32_t index, value; // signal: flag and its value
    struct move *behind;   // signal: the move before it in the stream; NULL: none is known
};

enum { INFLIGHT_MAX = STAGING_BLOCKS_MAX + LINK_FLAGS };

// State shared by requests and the mover.
struct one_sided {
    struct mover mover;                          // its lock guards the following members
    struct move *moves;                          // oldest first
    struct inflight_block *active[INFLIGHT_MAX]; // oldest first
    unsigned active_count;
    unsigned unready_failures; // moves that failed before the stream reached them
    bool started;              // set before the first request
};
extern struct one_sided one_sided;

// Exposed memory of the client, by region number. Only threads that serve requests change a region,
// and only while no move uses it.
struct reached_region {
    uint64_t address, size;
    uint32_t key;
};
extern struct reached_region reached[];

// Starts the mover. Must be called before requests are served. Returns 0 or -errno.
int one_sided_start(void);
// Waits until all flags that the GPU has set are sent to the client.
void one_sided_deliver(void);
// Returns true if a copy from memory of CONTEXT is in progress. Thread-safe.
bool one_sided_any_in(CUcontext context);

// ---- the caller holds the lock ----
void move_is_ready(struct move *move);
void move_fail(struct move *move, CUresult result);
// Sends flag INDEX to the client after the GPU has set it to VALUE, and after the move BEHIND
// (NULL: none). Returns false if too many flags are pending.
bool signal_begin(uint32_t index, uint32_t value, struct move *behind);

// ---- one_sided_waits.c: sleeping of the mover; the caller holds the lock ----
// The first two functions release the lock meanwhile.
void one_sided_sleep(uint32_t us);
void one_sided_waits_forget(CUcontext context); // CONTEXT ends, and is current
void one_sided_wake(void);

// ---- one_sided_rows.c: moves of rows; offsets count packed bytes ----
// Returns how many bytes from OFFSET on one in-flight block may carry, at most SIZE.
uint32_t box_inflight_size(const struct move *move, uint64_t offset, uint32_t size);
// Return the number of RDMA operations of an in-flight block, and operation number PART.
uint32_t box_parts(const struct inflight_block *inflight);
void box_part(const struct inflight_block *inflight, uint32_t part, struct link_transfer *transfer);
// Queues the GPU's copy between the block and the device.
CUresult box_copy(const struct inflight_block *inflight, CUstream stream);

#endif
