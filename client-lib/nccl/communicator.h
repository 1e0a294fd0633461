// SPDX-License-Identifier: BSD-3-Clause
// One rank of a communicator, as this process holds it. The ranks are the members of one team
// (rgpu.h). Each struct ncclComm has a team handle of its own, with its rank as the only local
// member, even if the process has several ranks.
//
// Each rank registers one window of staging memory, into which the other ranks put. The window has
// slots: for each channel SLOTS ring slots, which the previous rank of the ring fills, then for
// each rank SLOTS pair slots, which that rank fills. A slot keeps its data until the receiver has
// used them and has signalled that to the sender. Then the sender may fill the slot again.
#ifndef RGPU_NCCL_COMMUNICATOR_H
#define RGPU_NCCL_COMMUNICATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client-lib/nccl/living.h"
#include "client-lib/nccl/combine_kernels.h"
#include "client-lib/nccl/site_watch.h"

enum {
    // A collective of many bytes is divided between the channels. Each has its own slots and its
    // own stream, so that one channel can send while the other combines.
    CHANNELS = 2,
    SLOTS = 2,            // slots in a window for one sender, for each channel of the ring
    RING_PIECE = 4 << 20, // bytes of one ring slot
    PAIR_BYTES = 4 << 20, // bytes of one pair slot of every rank together; each has an equal part
    SCALARS_MAX = 64,     // most operations that a program can create for one communicator
};

// The tags of the signals between ranks. A tag of the ring plus a channel's number is the tag of
// that channel. CAME: the sender has filled a slot. FREE: the receiver has used the data of a slot.
enum rank_tag {
    TAG_RING_CAME,
    TAG_RING_FREE = TAG_RING_CAME + CHANNELS,
    TAG_PAIR_CAME = TAG_RING_FREE + CHANNELS,
    TAG_PAIR_FREE,
    RANK_TAGS, // number of tags
};

// Counts of slots since the communicator was made: those that this rank has filled in another
// rank's window, and those that this rank has received in its own window. The counts include
// planned steps. They never decrease; a count modulo SLOTS is the next slot.
struct slot_counts {
    uint64_t sent, taken;
};

// An operation that the program created by ncclRedOpCreatePreMulSum.
struct scalar_operation {
    bool used; // the entry is in use
    ncclDataType_t type;
    CUdeviceptr place; // address of the factor in memory of the program; 0: `value` is the factor
    uint64_t value;    // the factor, as a number of `type` in the first bytes
};

struct ncclComm {
    pthread_mutex_t lock; // protects the members that change
    int ranks, rank;
    CUdevice device;   // of `context`
    CUcontext context; // the communicator does not release it
    struct rgpu_team *team;
    struct rgpu_window *window;
    // One allocation, in this order: the window, the scratch buffers of each channel, the number
    // for averages of each type, the scalar of each channel.
    CUdeviceptr memory;
    size_t pair_piece;   // bytes of one pair slot, a multiple of 512
    size_t window_bytes; // the window's part of the allocation
    struct slot_counts ring[CHANNELS], pairs[RGPU_MEMBERS_MAX]; // pairs by the other rank
    struct combine_kernels kernels;
    struct scalar_operation scalars[SCALARS_MAX];
    CUstream side; // the stream of the second channel; the first uses the program's stream
    // The program's stream records `forked` before the second channel begins. A stream records
    // `joined` when another stream of the same operation waits for it.
    CUevent forked, joined;
    struct living work;
    // This rank in the boxes' own NCCL. If it has one (its number is not 0), the window, `memory`,
    // the slots and the kernels are unused.
    struct site_rank site;
    ncclResult_t failed; // the communicator's state: its first error, or ncclSuccess
    char why[320];       // message of the last failed call, "" without one
};

// Makes a communicator together with the other ranks; waits until all have called this, for 600
// seconds or RGPU_NCCL_TIMEOUT. This rank uses the GPU of CONTEXT, which must outlive the
// communicator. The caller ends *COMM by communicator_end. On an error *COMM stays as it is.
ncclResult_t communicator_make(ncclComm_t *comm, int ranks, int rank,
                               const struct rgpu_rendezvous *rendezvous, CUcontext context);
// Ends and frees a communicator. If ABORTED, this ends the team without the other ranks and
// returns when that is done. Otherwise a thread waits for the other ranks and frees COMM: the
// caller may have to end further ranks, so it must not wait. If that thread cannot be started, the
// caller waits.
void communicator_end(ncclComm_t comm, bool aborted);
// Returns ncclInvalidArgument if COMM is NULL.
ncclResult_t communicator_check(ncclComm_t comm);
// Returns RESULT. If it is an error, stores the thread's last message as the message of COMM. The
// first error becomes the state of COMM; ncclInvalidArgument and ncclInvalidUsage never do.
ncclResult_t communicator_failed(ncclComm_t comm, ncclResult_t result);

// Return the offset of a slot in the receiver's window, in bytes. COUNT is the number of slots
// that the sender has filled before on this way (slot_counts). The previous rank of the ring fills
// ring slots, the rank FROM fills pair slots.
static inline size_t ring_slot(int channel, uint64_t count)
{
    return ((size_t)channel * SLOTS + (size_t)(count % SLOTS)) * RING_PIECE;
}

static inline size_t pair_slot(const struct ncclComm *comm, int from, uint64_t count)
{
    return (size_t)CHANNELS * SLOTS * RING_PIECE +
           ((size_t)from * SLOTS + (size_t)(count % SLOTS)) * comm->pair_piece;
}

// The scratch buffers of a channel, RING_PIECE bytes each: for a result in transit to another rank,
// and for this rank's contribution after scaling.
enum scratch_use { SCRATCH_RESULT, SCRATCH_OWN, SCRATCHES };

// Returns the address of a scratch buffer.
static inline CUdeviceptr channel_scratch(const struct ncclComm *comm, int channel,
                                          enum scratch_use use)
{
    return comm->memory + comm->window_bytes + ((size_t)channel * SCRATCHES + use) * RING_PIECE;
}

// Returns the address of the number that averages of TYPE use: the number of ranks for integers,
// otherwise its inverse.
static inline CUdeviceptr average_number(const struct ncclComm *comm, ncclDataType_t type)
{
    return comm->memory + comm->window_bytes + (size_t)CHANNELS * SCRATCHES * RING_PIECE +
           (size_t)type * NUMBER_BYTES_MAX;
}

// Returns the address where a channel keeps the factor of its current operation.
static inline CUdeviceptr channel_scalar(const struct ncclComm *comm, int channel)
{
    return average_number(comm, ncclNumTypes) + (size_t)channel * NUMBER_BYTES_MAX;
}

#endif
