// SPDX-License-Identifier: BSD-3-Clause
// Source of notify.ptx, which `nvcc -ptx -arch=compute_75 -Iteam-lib` generates.
#include "rgpu_device.h"

// Two members of one block each notify each other by turns, with BYTES of data each time.
extern "C" __global__ void ping_pong(const struct rgpu_device_window *w, const char *source,
                                     uint32_t bytes, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        if (w->member)
            rgpu_signal_wait(w, 0, 1);
        rgpu_put_signal(w, !w->member, 0, source, bytes, 0);
        if (!w->member)
            rgpu_signal_wait(w, 0, 1);
    }
}
