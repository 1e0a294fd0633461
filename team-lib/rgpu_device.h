// SPDX-License-Identifier: BSD-3-Clause
// Put and notify from inside kernels. For CUDA C++, sm_70 and later. Between GPUs that reach each other's memory nobody else takes
// part. What goes to a GPU of another box is written into a mailbox as a letter, and that of the box sees to it.
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
enum { RGPU_DEVICE_LOST = 5 }; // a member is gone, or the team was ended: nobody waits any more
enum { RGPU_DEVICE_SLOTS = 256, RGPU_DEVICE_INLINE = 32 };

// In page-locked memory of the box: what kernels want to have put, and behind it uint32_t [blocks]: so many letters of each are
// over, and as `signals` below: what has come from other boxes.
struct rgpu_device_letter {
    uint32_t turn; // written last: its number plus one
    uint32_t rank, block;
    int32_t tag; // -1: no signal, -2: the member has come to the barrier
    uint64_t offset, bytes, data[RGPU_DEVICE_INLINE / 8]; // or, of more bytes, where they are
};
struct rgpu_device_mailbox {
    uint32_t taken, lost, reserved[14];
    struct rgpu_device_letter slots[RGPU_DEVICE_SLOTS];
};

// In memory of a member's GPU.
struct rgpu_device_window {
    uint32_t member, members, blocks, tags;
    uint64_t base[RGPU_DEVICE_MEMBERS], size[RGPU_DEVICE_MEMBERS];
    // uint32_t [blocks][tags]: have come so often, and behind them how many members came to the barrier. 0: it is far.
    uint64_t signals[RGPU_DEVICE_MEMBERS];
    uint64_t
        taken; // uint32_t [blocks][tags]: have been waited for, [blocks]: barriers, [blocks]: letters written
    uint64_t
        shared; // uint32_t: blocks of this member that came to the barrier, letters of all, and those known to be taken
    uint64_t mailbox; // 0: nobody is far
    uint64_t same;    // a bit for each member on this GPU
};

#ifdef __CUDACC__

static __device__ inline uint32_t rgpu_rank(const struct rgpu_device_window *w)
{
    return w->member * w->blocks + blockIdx.x;
}

// Counts up for a member, behind what this thread and, since it met them at a barrier, the others of the block have written.
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
    return w->mailbox + sizeof(struct rgpu_device_mailbox) + 4ull * i;
}

static __device__ inline int rgpu_is_lost_(const struct rgpu_device_window *w)
{
    return w->mailbox && rgpu_load_(w->mailbox + 4);
}

// Of a block, beside what it has waited for: 0: barriers, 1: letters.
static __device__ inline uint32_t *rgpu_own_(const struct rgpu_device_window *w, uint32_t which)
{
    return (uint32_t *)w->taken + w->blocks * (w->tags + which) + blockIdx.x;
}

// The number of the next letter, whose slot is free; waits for that where the mailbox is full.
static __device__ inline uint32_t rgpu_turn_(const struct rgpu_device_window *w)
{
    volatile uint32_t *shared = (volatile uint32_t *)w->shared;
    uint32_t turn = atomicAdd((uint32_t *)w->shared + 1, 1u);
    while (turn - shared[2] >= RGPU_DEVICE_SLOTS && !rgpu_is_lost_(w))
        shared[2] = rgpu_load_(w->mailbox);
    return turn;
}

// By one thread of a block, when what the others have written of the source can be seen.
static __device__ inline void rgpu_write_letter_(const struct rgpu_device_window *w, uint32_t rank,
                                                 uint64_t offset, const void *source,
                                                 uint64_t bytes, int32_t tag)
{
    uint32_t turn = rgpu_turn_(w);
    volatile struct rgpu_device_letter *letter =
        &((volatile struct rgpu_device_mailbox *)w->mailbox)->slots[turn % RGPU_DEVICE_SLOTS];
    letter->rank = rank;
    letter->block = blockIdx.x;
    letter->tag = tag;
    letter->offset = offset;
    letter->bytes = bytes;
    if (bytes > RGPU_DEVICE_INLINE)
        letter->data[0] = (uint64_t)source;
    else
        for (uint32_t word = 0; word * 8 < bytes; word++) {
            uint64_t value = 0;
            for (uint32_t i = 0; i < 8 && word * 8 + i < bytes; i++)
                value |= (uint64_t)((const volatile uint8_t *)source)[word * 8 + i] << (8 * i);
            letter->data[word] = value;
        }
    ++*rgpu_own_(w, 1);
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&letter->turn), "r"(turn + 1)
                 : "memory");
}

static __device__ inline void rgpu_put_far_(const struct rgpu_device_window *w, uint32_t rank,
                                            uint64_t offset, const void *source, uint64_t bytes,
                                            int32_t tag)
{
    __syncthreads();
    if (!threadIdx.x)
        rgpu_write_letter_(w, rank, offset, source, bytes, tag);
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

// The data are there when a later signal of this rank to that GPU is, or after rgpu_quiet. The source is memory of the GPU, and
// may be written again after rgpu_quiet or rgpu_barrier.
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

// What this block has put is there. RGPU_DEVICE_LOST: or will never be.
static __device__ inline int rgpu_quiet(const struct rgpu_device_window *w)
{
    int lost = 0;
    __syncthreads();
    if (!threadIdx.x) {
        __threadfence_system();
        while (w->mailbox && rgpu_load_(rgpu_counter_(w, blockIdx.x)) != *rgpu_own_(w, 1) && !lost)
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

// 1: COUNT signals of TAG have come, from whomever, that have not been waited for; now they have. 0: not yet. -1: there is no such
// tag. -2: they may never come.
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
        if (w->mailbox)
            signals += rgpu_load_(rgpu_counter_(w, w->blocks + slot));
        come = (int32_t)(signals - *taken - count) >= 0;
        if (come)
            *taken += count;
        else if (rgpu_is_lost_(w))
            come = 2;
    }
    if (__syncthreads_or(come & 1))
        return 1;
    return w->mailbox && __syncthreads_or(come) ? -2 : 0;
}

static __device__ inline int rgpu_signal_wait(const struct rgpu_device_window *w, uint32_t tag,
                                              uint32_t count)
{
    int come;
    while ((come = rgpu_signal_test(w, tag, count)) == 0)
        ;
    return come == 1 ? RGPU_DEVICE_SUCCESS : come == -1 ? RGPU_DEVICE_RANGE : RGPU_DEVICE_LOST;
}

// Tells every member that all blocks of this one have come; by the last of them.
static __device__ inline void rgpu_announce_(const struct rgpu_device_window *w, uint32_t slot)
{
    for (uint32_t to = 0; to < w->members; to++)
        if (w->signals[to])
            rgpu_add_(w, to, slot);
        else
            rgpu_write_letter_(w, to * w->blocks, 0, 0, 0, -2);
}

// All ranks have come here, and what they put before is there. RGPU_DEVICE_LOST: or one never will.
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
            if (w->mailbox)
                come += rgpu_load_(rgpu_counter_(w, w->blocks + slot));
            lost = lost || rgpu_is_lost_(w);
        } while ((int32_t)(come - times * w->members) < 0 && !lost);
    }
    return __syncthreads_or(lost) ? RGPU_DEVICE_LOST : RGPU_DEVICE_SUCCESS;
}

#endif
#endif
