// SPDX-License-Identifier: BSD-3-Clause
// Launching kernels.
#ifndef RGPU_CLIENT_LAUNCHING_H
#define RGPU_CLIENT_LAUNCHING_H

#include <stdint.h>

#include "proto/cuda_abi.h"

struct launch {
    const CUlaunchConfig *config;
    CUstream stream; // instead of the configuration's
    CUfunction function;
    void **parameters;
    void **extra;
    uint32_t flags; // WIRE_LAUNCH_...
};
CUresult kernel_launch(const struct launch *launch);

#endif
