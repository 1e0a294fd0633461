// SPDX-License-Identifier: BSD-3-Clause
// The kernels of combine.ptx, each a module of its own that is loaded when it is needed first: there are many of them.
#ifndef RGPU_NCCL_COMBINE_KERNELS_H
#define RGPU_NCCL_COMBINE_KERNELS_H

#include "nccl-lib/loaded_calls.h"
#include "nccl-lib/numbers.h"

// Of one context, which is current in all of these.
struct combine_kernels {
    CUmodule modules[ncclNumTypes][COMBININGS];
    CUfunction functions[ncclNumTypes][COMBININGS];
};

ncclResult_t combine_load(struct combine_kernels *kernels, ncclDataType_t type,
                          enum combining combining);
// TO becomes A combined with B (or each of A with the one number B), COUNT numbers. The kernel has been loaded.
ncclResult_t combine_launch(const struct combine_kernels *kernels, ncclDataType_t type,
                            enum combining combining, CUdeviceptr to, CUdeviceptr a, CUdeviceptr b,
                            size_t count, CUstream stream);
void combine_unload(struct combine_kernels *kernels);

#endif
