// SPDX-License-Identifier: BSD-3-Clause
// Launches as they were before CUDA 4: a function keeps the shape of its blocks, its shared memory
// and its parameters, and is launched with a grid. The state hangs on the function; any thread may
// call.
#ifndef RGPU_COMMON_DRIVER_OLD_LAUNCH_H
#define RGPU_COMMON_DRIVER_OLD_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

enum { OLD_LAUNCH_PARAMETERS = 4096 }; // bytes

// *SLOT is NULL until the first of these, and the function's end frees it with free().
struct old_launch;
CUresult old_launch_block(struct old_launch **slot, int x, int y, int z);
CUresult old_launch_shared(struct old_launch **slot, unsigned int bytes);
CUresult old_launch_size(struct old_launch **slot, unsigned int bytes);
CUresult old_launch_parameter(struct old_launch **slot, int offset, const void *value,
                              unsigned int size);

// All that a launch needs; it points into itself.
struct old_launch_request {
    CUlaunchConfig config;
    void *extra[5];
    size_t bytes;
    uint8_t parameters[OLD_LAUNCH_PARAMETERS];
};
CUresult old_launch_make(struct old_launch **slot, int width, int height, CUstream stream,
                         struct old_launch_request *out);

#endif
