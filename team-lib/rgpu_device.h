// SPDX-License-Identifier: BSD-3-Clause
// Put and notify from inside kernels, between GPUs that reach each other's memory. For CUDA C++, sm_70 and later.
//
// Ranks are blocks: block b of member m is rank m * blocks + b. All blocks of all members run at the same time (launch
// cooperatively, no more of them than fit), since they wait for each other. All functions are called by all threads of a block, with
// the same arguments. The host opens a window for kernels (rgpu_window_open_device) and passes each member's handle to its kernel.
//
// Offsets and sizes are bytes; a window is that of a member, which all of its ranks share. What is out of range is refused with
// RGPU_DEVICE_RANGE, and nothing is written.
#ifndef RGPU_DEVICE_H
#define RGPU_DEVICE_H

#include <stdint.h>

enum { RGPU_DEVICE_MEMBERS = 64, RGPU_DEVICE_SUCCESS = 0, RGPU_DEVICE_RANGE = 2 };

// In memory of a member's GPU.
struct rgpu_device_window {
    uint32_t member, members, blocks, tags;
    uint64_t base[RGPU_DEVICE_MEMBERS], size[RGPU_DEVICE_MEMBERS];
    uint64_t signals
        [RGPU_DEVICE_MEMBERS]; // uint32_t [blocks][tags]: have come so often, and behind them how many came to the barrier
    uint64_t taken; // uint32_t [blocks][tags]: have been waited for, and [blocks]: barriers
};

#ifdef __CUDACC__

static __device__ inline uint32_t rgpu_rank(const struct rgpu_device_window *w)
{
    return w->member * w->blocks + blockIdx.x;
}

static __device__ inline void rgpu_add_(uint64_t at)
{
    asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(at) : "memory");
}

static __device__ inline uint32_t rgpu_load_(uint64_t at)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

// The data are there when a later signal of this rank is, or after rgpu_quiet; and not before may the source be written again.
static __device__ inline int rgpu_put(const struct rgpu_device_window *w, uint32_t rank,
                                      uint64_t offset, const void *source, uint64_t bytes)
{
    if (rank >= w->members * w->blocks)
        return RGPU_DEVICE_RANGE;
    uint32_t to = rank / w->blocks;
    if (offset > w->size[to] || bytes > w->size[to] - offset)
        return RGPU_DEVICE_RANGE;
    char *target = (char *)w->base[to] + offset;
    if (target == source)
        return RGPU_DEVICE_SUCCESS;
    if ((((uint64_t)target | (uint64_t)source | bytes) & 15) == 0)
        for (uint64_t i = threadIdx.x; i < bytes / 16; i += blockDim.x)
            ((uint4 *)target)[i] = ((const uint4 *)source)[i];
    else
        for (uint64_t i = threadIdx.x; i < bytes; i += blockDim.x)
            target[i] = ((const char *)source)[i];
    return RGPU_DEVICE_SUCCESS;
}

// What this block has put is there.
static __device__ inline void rgpu_quiet(const struct rgpu_device_window *w)
{
    __threadfence_system();
    __syncthreads();
}

static __device__ inline int rgpu_signal(const struct rgpu_device_window *w, uint32_t rank,
                                         uint32_t tag)
{
    if (rank >= w->members * w->blocks || tag >= w->tags)
        return RGPU_DEVICE_RANGE;
    rgpu_quiet(w);
    if (!threadIdx.x)
        rgpu_add_(w->signals[rank / w->blocks] + 4ull * ((rank % w->blocks) * w->tags + tag));
    return RGPU_DEVICE_SUCCESS;
}

static __device__ inline int rgpu_put_signal(const struct rgpu_device_window *w, uint32_t rank,
                                             uint64_t offset, const void *source, uint64_t bytes,
                                             uint32_t tag)
{
    if (tag >= w->tags)
        return RGPU_DEVICE_RANGE;
    int result = rgpu_put(w, rank, offset, source, bytes);
    return result ? result : rgpu_signal(w, rank, tag);
}

// Whether COUNT signals of TAG have come, from whomever, that have not been waited for; if so they have now. -1: no such tag.
static __device__ inline int rgpu_signal_test(const struct rgpu_device_window *w, uint32_t tag,
                                              uint32_t count)
{
    if (tag >= w->tags)
        return -1;
    uint32_t slot = blockIdx.x * w->tags + tag;
    uint32_t *taken = (uint32_t *)w->taken + slot;
    int come = 0;
    if (!threadIdx.x) {
        come = (int32_t)(rgpu_load_(w->signals[w->member] + 4ull * slot) - *taken - count) >= 0;
        if (come)
            *taken += count;
    }
    return __syncthreads_or(come);
}

static __device__ inline int rgpu_signal_wait(const struct rgpu_device_window *w, uint32_t tag,
                                              uint32_t count)
{
    int come;
    while ((come = rgpu_signal_test(w, tag, count)) == 0)
        ;
    return come < 0 ? RGPU_DEVICE_RANGE : RGPU_DEVICE_SUCCESS;
}

// All ranks have come here, and what they put before is there.
static __device__ inline void rgpu_barrier(const struct rgpu_device_window *w)
{
    rgpu_quiet(w);
    if (!threadIdx.x) {
        uint32_t *times = (uint32_t *)w->taken + w->blocks * w->tags + blockIdx.x;
        uint64_t at = w->signals[0] + 4ull * w->blocks * w->tags;
        uint32_t all = ++*times * w->members * w->blocks;
        rgpu_add_(at);
        while ((int32_t)(rgpu_load_(at) - all) < 0)
            ;
    }
    __syncthreads();
}

#endif
#endif
