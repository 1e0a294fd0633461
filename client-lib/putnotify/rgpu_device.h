// SPDX-License-Identifier: BSD-3-Clause
// Put and notify from inside kernels. For CUDA C++, sm_70 and later. GPUs that can access each
// other's memory need no help. For a GPU of another box, a kernel writes a put request into a
// proxy queue, and the GPU's own box executes it.
//
// Ranks are blocks: block b of member m is rank m * blocks + b. All blocks of all members run at
// the same time (launch cooperatively, no more of them than fit), since they wait for each other.
// All functions are called by all threads of a block, with the same arguments. The host opens a
// window for kernels (rgpu_window_open_device) and passes each member's handle to its kernel.
//
// Offsets and sizes are bytes. A window belongs to a member, and all ranks of the member share it.
// A call out of range returns RGPU_DEVICE_RANGE and writes nothing.
#ifndef RGPU_DEVICE_H
#define RGPU_DEVICE_H

#include <stdint.h>

enum { RGPU_DEVICE_MEMBERS = 64, RGPU_DEVICE_SUCCESS = 0, RGPU_DEVICE_RANGE = 2 };
enum { RGPU_DEVICE_LOST = 5 }; // a member is gone, or the team was ended: all waits end
enum { RGPU_DEVICE_SLOTS = 256, RGPU_DEVICE_INLINE = 32 };

// In page-locked memory of the box: the put requests of kernels. They are followed by uint32_t
// [blocks], the completed put requests of each block, and by counts as in `signals` below, of
// signals from other boxes.
struct rgpu_device_put_request {
    uint32_t turn; // written last: the number of the put request plus one
    uint32_t rank, block;
    int32_t tag; // -1: no signal, -2: the member has reached the barrier
    uint64_t offset, bytes, data[RGPU_DEVICE_INLINE / 8]; // the data, or the address of more than
                                                          // RGPU_DEVICE_INLINE bytes
};
struct rgpu_device_proxy_queue {
    uint32_t taken, lost, reserved[14];
    struct rgpu_device_put_request slots[RGPU_DEVICE_SLOTS];
};

// Device memory of a member.
struct rgpu_device_window {
    uint32_t member, members, blocks, tags;
    uint64_t base[RGPU_DEVICE_MEMBERS], size[RGPU_DEVICE_MEMBERS];
    // uint32_t [blocks][tags]: signals received, then the number of members that have reached the
    // barrier. 0: the member is out of direct reach.
    uint64_t signals[RGPU_DEVICE_MEMBERS];
    // uint32_t [blocks][tags]: signals that were waited for, [blocks]: barriers, [blocks]: put
    // requests written
    uint64_t taken;
    // uint32_t: blocks of this member that have reached the barrier, put requests of all blocks,
    // and put requests known to be taken
    uint64_t shared;
    uint64_t proxy_queue; // 0: no member is out of direct reach
    uint64_t same;        // a bit for each member on this GPU
};

#ifdef __CUDACC__

static __device__ inline uint32_t rgpu_rank(const struct rgpu_device_window *w)
{
    return w->member * w->blocks + blockIdx.x;
}

// Counts up for a member, after all that this thread has written and, if it has met them at a
// barrier, the other threads of its block.
static __device__ inline void rgpu_add_(const struct rgpu_device_window *w, uint32_t to, uint32_t i)
{
    uint64_t at = w->signals[to] + 4ull * i;
    if (w->same >> to & 1)
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
    else
        asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
}

static __device__ inline uint32_t rgpu_load_(uint64_t at)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

static __device__ inline uint64_t rgpu_counter_(const struct rgpu_device_window *w, uint32_t i)
{
    return w->proxy_queue + sizeof(struct rgpu_device_proxy_queue) + 4ull * i;
}

static __device__ inline int rgpu_is_lost_(const struct rgpu_device_window *w)
{
    return w->proxy_queue && rgpu_load_(w->proxy_queue + 4);
}

// Returns one of a block's counters that follow those of awaited signals: 0: barriers, 1: put
// requests.
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

// Called by one thread of a block, after a barrier that makes the other threads' writes to the
// source visible.
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

// The target sees the data when it sees a later signal of this rank, or after this rank's
// rgpu_quiet. The source is memory of the GPU. It may be written again after rgpu_quiet or
// rgpu_barrier.
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

// Waits until this block's puts are complete. RGPU_DEVICE_LOST: they may never be.
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

// Tests for COUNT signals of TAG, from any ranks, that no earlier wait has counted. 1: they have
// arrived, and are counted from here on. 0: not yet. -1: there is no such tag. -2: they may never
// arrive.
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

static __device__ inline int rgpu_signal_wait(const struct rgpu_device_window *w, uint32_t tag,
                                              uint32_t count)
{
    int come;
    while ((come = rgpu_signal_test(w, tag, count)) == 0)
        ;
    return come == 1 ? RGPU_DEVICE_SUCCESS : come == -1 ? RGPU_DEVICE_RANGE : RGPU_DEVICE_LOST;
}

// Reports to every member that all blocks of this one have reached the barrier. Called by the last
// block.
static __device__ inline void rgpu_announce_(const struct rgpu_device_window *w, uint32_t slot)
{
    for (uint32_t to = 0; to < w->members; to++)
        if (w->signals[to])
            rgpu_add_(w, to, slot);
        else
            rgpu_write_put_request_(w, to * w->blocks, 0, 0, 0, -2);
}

// Waits until all ranks have reached this and their earlier puts are complete. RGPU_DEVICE_LOST: a
// rank may never reach it.
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
