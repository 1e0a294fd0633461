// SPDX-License-Identifier: BSD-3-Clause
// The source of far.ptx, compiled by `nvcc -ptx -arch=compute_75 -Iteam-lib`.
#include "rgpu_device.h"

// The blocks of member 0 put COUNT numbers each, more than a proxy queue has slots, and then one
// signal; those of member 1 find all.
extern "C" __global__ void far_many(const struct rgpu_device_window *w, uint32_t *source,
                                    uint32_t *wrong, uint32_t count)
{
    uint32_t *mine = source + blockIdx.x * count, first = blockIdx.x * count;
    if (!w->member) {
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
            mine[i] = first + i + 1;
        __syncthreads();
        for (uint32_t i = 0; i < count; i++)
            rgpu_put(w, w->blocks + blockIdx.x, 4ull * (first + i), mine + i, 4);
        rgpu_signal(w, w->blocks + blockIdx.x, 1);
    } else {
        rgpu_signal_wait(w, 1, 1);
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
            if (((const volatile uint32_t *)w->base[1])[first + i] != first + i + 1)
                atomicAdd(wrong, 1);
    }
    rgpu_barrier(w);
}

// Block 0 of member 0 puts BYTES at AT of member 1, signals its block 0, and reports when they have
// arrived.
extern "C" __global__ void far_large(const struct rgpu_device_window *w, const char *source,
                                     uint64_t bytes, uint64_t at, uint32_t *result)
{
    if (blockIdx.x)
        return;
    if (!w->member)
        *result = rgpu_put_signal(w, w->blocks, at, source, bytes, 0) | rgpu_quiet(w);
    else
        *result = rgpu_signal_wait(w, 0, 1);
}

static __device__ void scribble(const struct rgpu_device_window *w,
                                const struct rgpu_device_put_request *put)
{
    uint32_t turn = rgpu_turn_(w);
    volatile auto *queue = (volatile struct rgpu_device_proxy_queue *)w->proxy_queue;
    volatile struct rgpu_device_put_request *slot = &queue->slots[turn % RGPU_DEVICE_SLOTS];
    slot->rank = put->rank;
    slot->block = put->block;
    slot->tag = put->tag;
    slot->offset = put->offset;
    slot->bytes = put->bytes;
    slot->data[0] = put->data[0];
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&slot->turn), "r"(turn + 1) : "memory");
}

// Writes COUNT put requests as they are, then a valid put, and at last garbage over the whole
// queue.
extern "C" __global__ void far_hostile(const struct rgpu_device_window *w,
                                       const struct rgpu_device_put_request *puts, uint32_t count,
                                       const char *source, uint32_t *result)
{
    if (blockIdx.x || threadIdx.x)
        return;
    if (w->member) {
        *result = rgpu_signal_wait(w, 0, 1);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        scribble(w, puts + i);
    *result = rgpu_put_signal(w, w->blocks, 0, source, 4, 0);
    while (rgpu_load_(w->proxy_queue) != ((const volatile uint32_t *)w->shared)[1])
        ;
    volatile uint32_t *words = (volatile uint32_t *)w->proxy_queue;
    for (uint32_t i = 0; i < sizeof(struct rgpu_device_proxy_queue) / 4; i++)
        words[i] = 0x9e3779b9u * (i + 1);
}

// Waits for what does not come, in as many ways as there are blocks.
extern "C" __global__ void far_wait(const struct rgpu_device_window *w, uint32_t *result)
{
    uint32_t got = blockIdx.x == 0   ? rgpu_signal_wait(w, 0, 1)
                   : blockIdx.x == 1 ? rgpu_barrier(w)
                                     : rgpu_put(w, w->blocks, 0, result, 4) | rgpu_signal_wait(w, 1, 1);
    if (!threadIdx.x)
        result[blockIdx.x] = got;
}
