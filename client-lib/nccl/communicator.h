// SPDX-License-Identifier: BSD-3-Clause
// A rank of a communicator. It consists of a team with this rank as the only local member, and a
// window of staging memory into which the other ranks put. Received data stay in a slot of the
// window until this rank has used them and has signalled that to the sender, which may then use the
// slot again. Each rank has slots for the previous rank of the ring, and some for every other rank.
#ifndef RGPU_NCCL_COMMUNICATOR_H
#define RGPU_NCCL_COMMUNICATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client-lib/nccl/combine_kernels.h"
#include "client-lib/nccl/site_watch.h"

enum {
    CHANNELS = 2, // of the ring, each with its own stream, so that one can send while the other
                  // combines
    SLOTS = 2,    // of a sender
    RING_PIECE = 4 << 20, // bytes of a slot of the ring
    PAIR_BYTES = 4 << 20, // total for one slot of each sender
    SCALARS_MAX = 64,     // operations that the program has created
};

// Signals of the window.
enum rank_tag {
    TAG_RING_CAME, // and of the further channels
    TAG_RING_FREE = TAG_RING_CAME + CHANNELS,
    TAG_PAIR_CAME = TAG_RING_FREE + CHANNELS,
    TAG_PAIR_FREE,
    RANK_TAGS,
};

// Numbers of slots sent to a rank and received from one.
struct slot_counts {
    uint64_t sent, taken;
};

// An operation that ncclRedOpCreatePreMulSum made.
struct scalar_operation {
    bool used;
    ncclDataType_t type;
    CUdeviceptr place; // the program's memory; 0: the number is `value`
    uint64_t value;
};

struct ncclComm {
    pthread_mutex_t lock;
    int ranks, rank;
    CUdevice device;
    CUcontext context;
    struct rgpu_team *team;
    struct rgpu_window *window;
    // the window; scratch memory of each channel; numbers for averages and of operations
    CUdeviceptr memory;
    size_t pair_piece; // bytes of a slot of one other rank
    size_t window_bytes;
    struct slot_counts ring[CHANNELS], pairs[RGPU_MEMBERS_MAX];
    struct combine_kernels kernels;
    struct scalar_operation scalars[SCALARS_MAX];
    CUstream side; // of the second channel
    CUevent forked, joined;
    CUevent last; // recorded after the last operation
    CUstream last_stream;
    bool began; // there was a last operation
    struct site_rank
        site; // if it has a rank there, the window, its memory, slots and kernels are unused
    ncclResult_t failed;
    char why[320];
};

// Makes a communicator together with the other ranks. This rank uses the GPU of CONTEXT.
ncclResult_t communicator_make(ncclComm_t *comm, int ranks, int rank,
                               const struct rgpu_rendezvous *rendezvous, CUcontext context);
// Ends a communicator. If ABORTED, the other ranks take no part. Otherwise it ends in the
// background, because this thread may have to end the other ranks as well.
void communicator_end(ncclComm_t comm, bool aborted);
// Returns an error unless COMM is a communicator that exists.
ncclResult_t communicator_check(ncclComm_t comm);
// Returns RESULT, which also becomes the state of the communicator, unless it is a success or an
// invalid call.
ncclResult_t communicator_failed(ncclComm_t comm, ncclResult_t result);

// Returns the offset of a slot in the receiver's window, for data from the previous rank of the
// ring, or from the rank FROM.
static inline size_t ring_slot(int channel, uint64_t count)
{
    return ((size_t)channel * SLOTS + (size_t)(count % SLOTS)) * RING_PIECE;
}

static inline size_t pair_slot(const struct ncclComm *comm, int from, uint64_t count)
{
    return (size_t)CHANNELS * SLOTS * RING_PIECE +
           ((size_t)from * SLOTS + (size_t)(count % SLOTS)) * comm->pair_piece;
}

// Scratch memory for results in transit, and for this rank's contribution after scaling.
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

// Returns the address where a channel keeps the scalar of the current operation.
static inline CUdeviceptr channel_scalar(const struct ncclComm *comm, int channel)
{
    return average_number(comm, ncclNumTypes) + (size_t)channel * NUMBER_BYTES_MAX;
}

#endif
