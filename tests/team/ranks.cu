// SPDX-License-Identifier: BSD-3-Clause
// The source of ranks.ptx, compiled by `nvcc -ptx -arch=compute_75 -Iteam-lib`.
#include "rgpu_device.h"

// Each rank puts its number and the step's to the next one, which answers; refused calls are
// counted.
extern "C" __global__ void ranks_around(const struct rgpu_device_window *w, uint32_t *source,
                                        uint32_t *wrong, uint32_t steps)
{
    uint32_t ranks = w->members * w->blocks, own = rgpu_rank(w);
    uint32_t next = (own + 1) % ranks, before = (own + ranks - 1) % ranks;
    uint32_t *mine = source + blockIdx.x * 64;
    const volatile uint32_t *got = (const volatile uint32_t *)w->base[w->member] + blockIdx.x * 64;
    for (uint32_t step = 0; step < steps; step++) {
        if (threadIdx.x < 64)
            mine[threadIdx.x] = own * 1000 + step;
        __syncthreads();
        rgpu_put_signal(w, next, (next % w->blocks) * 256, mine, 256, 1);
        rgpu_signal_wait(w, 1, 1);
        if (threadIdx.x < 64 && got[threadIdx.x] != before * 1000 + step)
            atomicAdd(wrong, 1);
        rgpu_barrier(w);
    }
    if (rgpu_put(w, ranks, 0, mine, 4) != RGPU_DEVICE_RANGE ||
        rgpu_put(w, next, w->size[next / w->blocks] - 3, mine, 4) != RGPU_DEVICE_RANGE ||
        rgpu_put(w, next, ~0ull - 1, mine, 4) != RGPU_DEVICE_RANGE ||
        rgpu_signal(w, next, w->tags) != RGPU_DEVICE_RANGE || rgpu_signal_test(w, w->tags, 1) != -1 ||
        rgpu_signal_test(w, 0, 1) != 0)
        if (!threadIdx.x)
            atomicAdd(wrong, 1000);
}

// Waits for a signal that is never sent.
extern "C" __global__ void ranks_wait(const struct rgpu_device_window *w)
{
    rgpu_signal_wait(w, 0, 1);
}
