// SPDX-License-Identifier: BSD-3-Clause
// Put and notify from inside kernels, for CUDA C++, sm_70 and later. rgpu.h explains teams,
// members, windows and signals. A kernel writes directly to the memory of GPUs that its GPU can
// access. For other GPUs it writes a put request into a proxy queue, and the box of its own GPU
// executes it.
//
// Here, ranks are blocks: block b of member m has the rank m * blocks + b. Blocks wait for each
// other, so all blocks of all members must run at the same time: launch each kernel cooperatively,
// with no more blocks than its GPU can run at once. All threads of a block call each function
// together, with the same arguments. The host opens a window for kernels (rgpu_window_open_device)
// and passes each member's handle as W to its kernel.
//
// Offsets and sizes are bytes. All ranks of a member share its part of the window, but each rank
// has its own signals, one counter for each tag. Functions return RGPU_DEVICE_SUCCESS or an error.
// If a rank, a tag, an offset or a size is out of range, a call returns RGPU_DEVICE_RANGE and
// writes nothing. Names that end with "_" are internal.
#ifndef RGPU_DEVICE_H
#define RGPU_DEVICE_H

#include <stdint.h>

enum { RGPU_DEVICE_MEMBERS = 64, RGPU_DEVICE_SUCCESS = 0, RGPU_DEVICE_RANGE = 2 };
// A member is gone, or the team was aborted. All waits of the kernel end with this error.
enum { RGPU_DEVICE_LOST = 5 };
// Put requests of a proxy queue; most bytes of data within a put request.
enum { RGPU_DEVICE_SLOTS = 256, RGPU_DEVICE_INLINE = 32 };

// A put that the box executes for a block.
struct rgpu_device_put_request {
    uint32_t turn;        // number of the put request plus 1, written last; numbers begin with 0
    uint32_t rank, block; // rank of the target, number of the block that makes the put
    int32_t tag;          // -1: no signal, -2: the member has reached the barrier
    // target offset and size; the data, or in data[0] the device address of more than
    // RGPU_DEVICE_INLINE bytes
    uint64_t offset, bytes, data[RGPU_DEVICE_INLINE / 8];
};
// The put requests of one member's kernels, in page-locked memory of the box. Two arrays follow:
// uint32_t [blocks], the completed put requests of each block, and the signals from other boxes,
// laid out as those in `signals` below.
struct rgpu_device_proxy_queue {
    // taken: number of put requests whose slots are free again. lost: not 0 if the team is lost.
    uint32_t taken, lost, reserved[14];
    struct rgpu_device_put_request slots[RGPU_DEVICE_SLOTS]; // by number modulo RGPU_DEVICE_SLOTS
};

// The handle of a member, in memory of its GPU. Counters only increase, modulo 2^32. Addresses are
// those that this member's kernel can use.
struct rgpu_device_window {
    // this member's number; numbers of the team's members, of blocks per kernel, of tags
    uint32_t member, members, blocks, tags;
    // address and bytes of each member's window; the address is 0 if this GPU cannot access it
    uint64_t base[RGPU_DEVICE_MEMBERS], size[RGPU_DEVICE_MEMBERS];
    // For each member the address of its received signals, uint32_t [blocks][tags], which one
    // uint32_t follows: the number of members that have reached a barrier. 0: this GPU cannot
    // access the member's memory.
    uint64_t signals[RGPU_DEVICE_MEMBERS];
    // Address of uint32_t [blocks][tags], the signals that waits have used up; then of [blocks],
    // the barriers that each block has reached; then of [blocks], the put requests of each block.
    uint64_t taken;
    // Address of three uint32_t: how often blocks of this member have reached barriers, put
    // requests of all blocks, and the last value of the proxy queue's `taken` that was read.
    uint64_t shared;
    uint64_t proxy_queue; // address; 0: this GPU can access the memory of all members
    uint64_t same;        // bit i is set if member i uses the same context
};

#ifdef __CUDACC__

// Returns the rank of the calling block.
static __device__ inline uint32_t rgpu_rank(const struct rgpu_device_window *w)
{
    return w->member * w->blocks + blockIdx.x;
}

// Adds 1 to counter I of the member TO. A reader of the new value sees all earlier writes of this
// thread, and those of the block's other threads before their last __syncthreads().
static __device__ inline void rgpu_add_(const struct rgpu_device_window *w, uint32_t to, uint32_t i)
{
    uint64_t at = w->signals[to] + 4ull * i;
    if (w->same >> to & 1)
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
    else
        asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
}

// Reads a counter that GPUs or boxes write.
static __device__ inline uint32_t rgpu_load_(uint64_t at)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

// Returns the address of counter I of those that follow the proxy queue.
static __device__ inline uint64_t rgpu_counter_(const struct rgpu_device_window *w, uint32_t i)
{
    return w->proxy_queue + sizeof(struct rgpu_device_proxy_queue) + 4ull * i;
}

static __device__ inline int rgpu_is_lost_(const struct rgpu_device_window *w)
{
    return w->proxy_queue && rgpu_load_(w->proxy_queue + 4);
}

// Returns the address of a counter of this block: WHICH is 0 for barriers, 1 for put requests.
static __device__ inline uint32_t *rgpu_own_(const struct rgpu_device_window *w, uint32_t which)
{
    return (uint32_t *)w->taken + w->blocks * (w->tags + which) + blockIdx.x;
}

// Returns the number of the next put request, whose slot is free. Waits while the queue is full.
static __device__ inline uint32_t rgpu_turn_(const struct rgpu_device_window *w)
{
    volatile uint32_t *shared = (volatile uint32_t *)w->shared;
    uint32_t turn = atomicAdd((uint32_t *)w->shared + 1, 1u);
    while (turn - shared[2] >= RGPU_DEVICE_SLOTS && !rgpu_is_lost_(w))
        shared[2] = rgpu_load_(w->proxy_queue);
    return turn;
}

// Writes a put request. One thread of a block calls this, after a __syncthreads() that makes the
// other threads' writes to the source visible.
static __device__ inline void rgpu_write_put_request_(const struct rgpu_device_window *w,
                                                      uint32_t rank, uint64_t offset,
                                                      const void *source, uint64_t bytes,
                                                      int32_t tag)
{
    uint32_t turn = rgpu_turn_(w);
    volatile struct rgpu_device_put_request *put_request =
        &((volatile struct rgpu_device_proxy_queue *)w->proxy_queue)
             ->slots[turn % RGPU_DEVICE_SLOTS];
    put_request->rank = rank;
    put_request->block = blockIdx.x;
    put_request->tag = tag;
    put_request->offset = offset;
    put_request->bytes = bytes;
    if (bytes > RGPU_DEVICE_INLINE)
        put_request->data[0] = (uint64_t)source;
    else
        for (uint32_t word = 0; word * 8 < bytes; word++) {
            uint64_t value = 0;
            for (uint32_t i = 0; i < 8 && word * 8 + i < bytes; i++)
                value |= (uint64_t)((const volatile uint8_t *)source)[word * 8 + i] << (8 * i);
            put_request->data[word] = value;
        }
    ++*rgpu_own_(w, 1);
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&put_request->turn), "r"(turn + 1)
                 : "memory");
}

static __device__ inline void rgpu_put_far_(const struct rgpu_device_window *w, uint32_t rank,
                                            uint64_t offset, const void *source, uint64_t bytes,
                                            int32_t tag)
{
    __syncthreads();
    if (!threadIdx.x)
        rgpu_write_put_request_(w, rank, offset, source, bytes, tag);
}

static __device__ inline int rgpu_check_put_(const struct rgpu_device_window *w, uint32_t rank,
                                             uint64_t offset, uint64_t bytes)
{
    if (rank >= w->members * w->blocks)
        return RGPU_DEVICE_RANGE;
    uint64_t size = w->size[rank / w->blocks];
    return offset > size || bytes > size - offset ? RGPU_DEVICE_RANGE : RGPU_DEVICE_SUCCESS;
}

static __device__ inline void rgpu_copy_(char *target, const void *source, uint64_t bytes)
{
    if (target == source)
        return;
    if ((((uint64_t)target | (uint64_t)source | bytes) & 15) == 0)
        for (uint64_t i = threadIdx.x; i < bytes / 16; i += blockDim.x)
            ((uint4 *)target)[i] = ((const uint4 *)source)[i];
    else
        for (uint64_t i = threadIdx.x; i < bytes; i += blockDim.x)
            target[i] = ((const char *)source)[i];
}

// Copies BYTES from SOURCE, memory of this GPU, to OFFSET of the window of RANK's member. The
// target sees the data once it sees a later signal of this rank, or after this rank's rgpu_quiet.
// The kernel may overwrite SOURCE after rgpu_quiet or rgpu_barrier.
static __device__ inline int rgpu_put(const struct rgpu_device_window *w, uint32_t rank,
                                      uint64_t offset, const void *source, uint64_t bytes)
{
    int result = rgpu_check_put_(w, rank, offset, bytes);
    if (result || !bytes)
        return result;
    uint32_t to = rank / w->blocks;
    if (w->signals[to])
        rgpu_copy_((char *)w->base[to] + offset, source, bytes);
    else
        rgpu_put_far_(w, rank, offset, source, bytes, -1);
    return RGPU_DEVICE_SUCCESS;
}

// Waits until this block's puts are complete. Returns RGPU_DEVICE_LOST if they may never be.
static __device__ inline int rgpu_quiet(const struct rgpu_device_window *w)
{
    int lost = 0;
    __syncthreads();
    if (!threadIdx.x) {
        __threadfence_system();
        while (w->proxy_queue && rgpu_load_(rgpu_counter_(w, blockIdx.x)) != *rgpu_own_(w, 1) &&
               !lost)
            lost = rgpu_is_lost_(w);
    }
    return __syncthreads_or(lost) ? RGPU_DEVICE_LOST : RGPU_DEVICE_SUCCESS;
}

// Adds 1 to the signal TAG of RANK, after this block's earlier puts to that rank.
static __device__ inline int rgpu_signal(const struct rgpu_device_window *w, uint32_t rank,
                                         uint32_t tag)
{
    if (rank >= w->members * w->blocks || tag >= w->tags)
        return RGPU_DEVICE_RANGE;
    uint32_t to = rank / w->blocks;
    if (!w->signals[to]) {
        rgpu_put_far_(w, rank, 0, 0, 0, (int32_t)tag);
        return RGPU_DEVICE_SUCCESS;
    }
    __syncthreads();
    if (!threadIdx.x)
        rgpu_add_(w, to, (rank % w->blocks) * w->tags + tag);
    return RGPU_DEVICE_SUCCESS;
}

// Does the work of rgpu_put and then of rgpu_signal.
static __device__ inline int rgpu_put_signal(const struct rgpu_device_window *w, uint32_t rank,
                                             uint64_t offset, const void *source, uint64_t bytes,
                                             uint32_t tag)
{
    int result = rgpu_check_put_(w, rank, offset, bytes);
    if (result || tag >= w->tags)
        return RGPU_DEVICE_RANGE;
    uint32_t to = rank / w->blocks;
    if (!w->signals[to]) {
        rgpu_put_far_(w, rank, offset, source, bytes, (int32_t)tag);
        return RGPU_DEVICE_SUCCESS;
    }
    rgpu_copy_((char *)w->base[to] + offset, source, bytes);
    return rgpu_signal(w, rank, tag);
}

// Tests, without waiting, if COUNT signals TAG of any ranks have arrived that no earlier wait or
// test has used up. Returns 1 and uses them up if they have, 0 if not yet, -1 if there is no such
// tag, -2 if they may never arrive because the team is lost.
static __device__ inline int rgpu_signal_test(const struct rgpu_device_window *w, uint32_t tag,
                                              uint32_t count)
{
    if (tag >= w->tags)
        return -1;
    uint32_t slot = blockIdx.x * w->tags + tag;
    uint32_t *taken = (uint32_t *)w->taken + slot;
    int come = 0;
    if (!threadIdx.x) {
        uint32_t signals = rgpu_load_(w->signals[w->member] + 4ull * slot);
        if (w->proxy_queue)
            signals += rgpu_load_(rgpu_counter_(w, w->blocks + slot));
        come = (int32_t)(signals - *taken - count) >= 0;
        if (come)
            *taken += count;
        else if (rgpu_is_lost_(w))
            come = 2;
    }
    if (__syncthreads_or(come & 1))
        return 1;
    return w->proxy_queue && __syncthreads_or(come) ? -2 : 0;
}

// Waits until rgpu_signal_test does not return 0. Returns RGPU_DEVICE_SUCCESS, RGPU_DEVICE_RANGE or
// RGPU_DEVICE_LOST.
static __device__ inline int rgpu_signal_wait(const struct rgpu_device_window *w, uint32_t tag,
                                              uint32_t count)
{
    int come;
    while ((come = rgpu_signal_test(w, tag, count)) == 0)
        ;
    return come == 1 ? RGPU_DEVICE_SUCCESS : come == -1 ? RGPU_DEVICE_RANGE : RGPU_DEVICE_LOST;
}

// Reports to every member that all blocks of this member have reached the barrier. One thread of
// the last block calls this.
static __device__ inline void rgpu_announce_(const struct rgpu_device_window *w, uint32_t slot)
{
    for (uint32_t to = 0; to < w->members; to++)
        if (w->signals[to])
            rgpu_add_(w, to, slot);
        else
            rgpu_write_put_request_(w, to * w->blocks, 0, 0, 0, -2);
}

// Waits until all ranks have called this and their earlier puts are complete. Returns
// RGPU_DEVICE_LOST if a rank may never call this.
static __device__ inline int rgpu_barrier(const struct rgpu_device_window *w)
{
    int lost = rgpu_quiet(w);
    if (!threadIdx.x) {
        uint32_t times = ++*rgpu_own_(w, 0), slot = w->blocks * w->tags, here, come;
        asm volatile("atom.acq_rel.sys.global.add.u32 %0, [%1], 1;"
                     : "=r"(here)
                     : "l"(w->shared)
                     : "memory");
        if (here + 1 == times * w->blocks)
            rgpu_announce_(w, slot);
        do {
            come = rgpu_load_(w->signals[w->member] + 4ull * slot);
            if (w->proxy_queue)
                come += rgpu_load_(rgpu_counter_(w, w->blocks + slot));
            lost = lost || rgpu_is_lost_(w);
        } while ((int32_t)(come - times * w->members) < 0 && !lost);
    }
    return __syncthreads_or(lost) ? RGPU_DEVICE_LOST : RGPU_DEVICE_SUCCESS;
}

#endif
#endif
