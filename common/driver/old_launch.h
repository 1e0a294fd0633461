// SPDX-License-Identifier: BSD-3-Clause
// Launches as they were before CUDA 4: a function keeps the shape of its blocks, its shared memory
// and its parameters, and is launched with a grid. The object of a function keeps this state in a
// slot. Thread-safe.
#ifndef RGPU_COMMON_DRIVER_OLD_LAUNCH_H
#define RGPU_COMMON_DRIVER_OLD_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

enum { OLD_LAUNCH_PARAMETERS = 4096 }; // bytes

// The state of one function. *SLOT is NULL until one of the following calls allocates it; the owner
// of the function frees it with free(). These calls do what cuFuncSetBlockShape,
// cuFuncSetSharedSize, cuParamSetSize and cuParamSetv do.
struct old_launch;
CUresult old_launch_block(struct old_launch **slot, int x, int y, int z);
CUresult old_launch_shared(struct old_launch **slot, unsigned int bytes);
CUresult old_launch_size(struct old_launch **slot, unsigned int bytes);
CUresult old_launch_parameter(struct old_launch **slot, int offset, const void *value,
                              unsigned int size);

// The arguments of one launch. `extra` points to members of the same structure, so it must not be
// copied or moved.
struct old_launch_request {
    CUlaunchConfig config;
    void *extra[5];
    size_t bytes;
    uint8_t parameters[OLD_LAUNCH_PARAMETERS];
};
// Fills in the request of a launch of WIDTH by HEIGHT blocks (cuLaunchGrid).
CUresult old_launch_make(struct old_launch **slot, int width, int height, CUstream stream,
                         struct old_launch_request *out);

#endif
