// SPDX-License-Identifier: BSD-3-Clause
// A rank of a communicator: a team of which this is the one local member, and a window of staging memory into which the
// others put. What a rank gets lies there in a slot until it has been taken, and who takes it says so, so that the sender
// knows when the slot is free. Each rank has slots for what the one before it in the ring sends, and some for every other one.
#ifndef RGPU_NCCL_COMMUNICATOR_H
#define RGPU_NCCL_COMMUNICATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "nccl-lib/combine_kernels.h"
#include "nccl-lib/site_watch.h"

enum {
    CHANNELS = 2, // of the ring, each with a stream, so that one sends while the other one adds
    SLOTS = 2,    // of a sender
    RING_PIECE = 4 << 20, // bytes of a slot of the ring
    PAIR_BYTES = 4 << 20, // of one slot of every sender together
    SCALARS_MAX = 64,     // operations of the program
};

// Signals of the window.
enum rank_tag {
    TAG_RING_CAME, // and of the further channels
    TAG_RING_FREE = TAG_RING_CAME + CHANNELS,
    TAG_PAIR_CAME = TAG_RING_FREE + CHANNELS,
    TAG_PAIR_FREE,
    RANK_TAGS,
};

// What has been sent to a rank and received from one, in slots.
struct slot_counts {
    uint64_t sent, taken;
};

// An operation that ncclRedOpCreatePreMulSum made.
struct scalar_operation {
    bool used;
    ncclDataType_t type;
    CUdeviceptr place; // the program's memory; 0: it is the value
    uint64_t value;
};

struct ncclComm {
    pthread_mutex_t lock;
    int ranks, rank;
    CUdevice device;
    CUcontext context;
    struct rgpu_team *team;
    struct rgpu_window *window;
    CUdeviceptr
        memory; // the window; scratch memory of each channel; numbers for averages and of operations
    size_t pair_piece; // bytes of a slot of one other rank
    size_t window_bytes;
    struct slot_counts ring[CHANNELS], pairs[RGPU_MEMBERS_MAX];
    struct combine_kernels kernels;
    struct scalar_operation scalars[SCALARS_MAX];
    CUstream side; // of the second channel
    CUevent forked, joined;
    CUevent last; // behind the last operation
    CUstream last_stream;
    bool began; // there was one
    struct site_rank
        site; // where it has one, nothing of the window and of what follows that is there
    ncclResult_t failed;
    char why[320];
};

// Meets the other ranks, with the GPU of CONTEXT.
ncclResult_t communicator_make(ncclComm_t *comm, int ranks, int rank,
                               const struct rgpu_meeting *meeting, CUcontext context);
// Without the others' help, where ABORTED; else in the background, as the others may be this thread's to end.
void communicator_end(ncclComm_t comm, bool aborted);
// Whether COMM is one that there is.
ncclResult_t communicator_check(ncclComm_t comm);
// Returns RESULT, which also becomes the state of the communicator, unless it is a success or a mistake of the caller's alone.
ncclResult_t communicator_failed(ncclComm_t comm, ncclResult_t result);

// A slot in the window of whoever receives: from the ring's sender, or from the rank FROM.
static inline size_t ring_slot(int channel, uint64_t count)
{
    return ((size_t)channel * SLOTS + (size_t)(count % SLOTS)) * RING_PIECE;
}

static inline size_t pair_slot(const struct ncclComm *comm, int from, uint64_t count)
{
    return (size_t)CHANNELS * SLOTS * RING_PIECE +
           ((size_t)from * SLOTS + (size_t)(count % SLOTS)) * comm->pair_piece;
}

// For results on their way, and for what this rank gives after it has been scaled.
enum scratch_use { SCRATCH_RESULT, SCRATCH_OWN, SCRATCHES };

static inline CUdeviceptr channel_scratch(const struct ncclComm *comm, int channel,
                                          enum scratch_use use)
{
    return comm->memory + comm->window_bytes + ((size_t)channel * SCRATCHES + use) * RING_PIECE;
}

static inline CUdeviceptr average_number(const struct ncclComm *comm, ncclDataType_t type)
{
    return comm->memory + comm->window_bytes + (size_t)CHANNELS * SCRATCHES * RING_PIECE +
           (size_t)type * NUMBER_BYTES_MAX;
}

// Where a channel has the number of the operation that is on.
static inline CUdeviceptr channel_scalar(const struct ncclComm *comm, int channel)
{
    return average_number(comm, ncclNumTypes) + (size_t)channel * NUMBER_BYTES_MAX;
}

#endif
