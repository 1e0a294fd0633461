// SPDX-License-Identifier: BSD-3-Clause
// Source of ping_pong.ptx, which `nvcc -ptx -arch=compute_75 -Iteam-lib` generates.
#include "rgpu_device.h"

// Returns the partner rank, which is in the other half of all ranks.
static __device__ uint32_t partner(const struct rgpu_device_window *w)
{
    uint32_t half = w->members * w->blocks / 2, own = rgpu_rank(w);
    return own < half ? own + half : own - half;
}

// Puts BYTES at PLACE in the partner's window and signals; with 0 bytes it only signals.
static __device__ void send(const struct rgpu_device_window *w, uint32_t to, uint64_t place,
                            uint64_t bytes)
{
    const char *own = (const char *)w->base[w->member] + blockIdx.x * place;
    if (bytes)
        rgpu_put_signal(w, to, to % w->blocks * place, own, bytes, 0);
    else
        rgpu_signal(w, to, 0);
}

// Sends there and back TIMES times: the same 4 bytes, or a signal alone.
extern "C" __global__ void ping_pong(const struct rgpu_device_window *w, uint64_t place,
                                     uint64_t bytes, uint32_t times)
{
    uint32_t to = partner(w);
    for (uint32_t i = 0; i < times; i++) {
        if (rgpu_rank(w) < to) {
            send(w, to, place, bytes);
            rgpu_signal_wait(w, 0, 1);
        } else {
            rgpu_signal_wait(w, 0, 1);
            send(w, to, place, bytes);
        }
    }
}

// Sends one way TIMES times in a row; the partner waits for all.
extern "C" __global__ void stream_of_puts(const struct rgpu_device_window *w, uint64_t place,
                                          uint64_t bytes, uint32_t times)
{
    uint32_t to = partner(w);
    if (rgpu_rank(w) < to)
        for (uint32_t i = 0; i < times; i++)
            send(w, to, place, bytes);
    else
        rgpu_signal_wait(w, 0, times);
}
