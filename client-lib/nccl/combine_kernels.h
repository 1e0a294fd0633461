// SPDX-License-Identifier: BSD-3-Clause
// The kernels of combine_ptx.py. There are many, so each is a module of its own, which is loaded
// when it is first needed.
#ifndef RGPU_NCCL_COMBINE_KERNELS_H
#define RGPU_NCCL_COMBINE_KERNELS_H

#include "client-lib/nccl/loaded_calls.h"
#include "client-lib/nccl/numbers.h"

// The kernels of one context, which is current whenever these functions are called.
struct combine_kernels {
    CUmodule modules[ncclNumTypes][COMBININGS];
    CUfunction functions[ncclNumTypes][COMBININGS];
};

ncclResult_t combine_load(struct combine_kernels *kernels, ncclDataType_t type,
                          enum combining combining);
// TO becomes A combined with B (or each number of A with the single number B), COUNT numbers. The
// kernel must be loaded.
ncclResult_t combine_launch(const struct combine_kernels *kernels, ncclDataType_t type,
                            enum combining combining, CUdeviceptr to, CUdeviceptr a, CUdeviceptr b,
                            size_t count, CUstream stream);
void combine_unload(struct combine_kernels *kernels);

#endif
