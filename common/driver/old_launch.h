// SPDX-License-Identifier: BSD-3-Clause
// Launches in the style before CUDA 4: a function stores its block shape, shared memory and
// parameters, and is then launched with a grid size. Thread-safe.
#ifndef RGPU_COMMON_DRIVER_OLD_LAUNCH_H
#define RGPU_COMMON_DRIVER_OLD_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

enum { OLD_LAUNCH_PARAMETERS = 4096 }; // bytes

// Set the stored values, as cuFuncSetBlockShape, cuFuncSetSharedSize, cuParamSetSize and
// cuParamSetv do. *SLOT is NULL until the first of these calls allocates the state; the owner of
// the function frees it with free().
struct old_launch;
CUresult old_launch_block(struct old_launch **slot, int x, int y, int z);
CUresult old_launch_shared(struct old_launch **slot, unsigned int bytes);
CUresult old_launch_size(struct old_launch **slot, unsigned int bytes);
CUresult old_launch_parameter(struct old_launch **slot, int offset, const void *value,
                              unsigned int size);

// Arguments of one launch. `extra` points into the structure, which must not be copied or moved.
struct old_launch_request {
    CUlaunchConfig config;
    void *extra[5];
    size_t bytes;
    uint8_t parameters[OLD_LAUNCH_PARAMETERS];
};
// Fills in the launch of WIDTH by HEIGHT blocks (cuLaunchGrid).
CUresult old_launch_make(struct old_launch **slot, int width, int height, CUstream stream,
                         struct old_launch_request *out);

#endif
