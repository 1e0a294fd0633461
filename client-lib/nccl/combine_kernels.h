// SPDX-License-Identifier: BSD-3-Clause
// The kernels of combine_ptx.py, one for each number type and operation. There are many, so each is
// a module of its own, which is loaded before its first use.
#ifndef RGPU_NCCL_COMBINE_KERNELS_H
#define RGPU_NCCL_COMBINE_KERNELS_H

#include "client-lib/nccl/loaded_calls.h"
#include "client-lib/nccl/numbers.h"

// The loaded kernels of one context; 0: not loaded. The caller of each function makes that context
// current and lets no other thread use KERNELS.
struct combine_kernels {
    CUmodule modules[ncclNumTypes][COMBININGS];
    CUfunction functions[ncclNumTypes][COMBININGS];
};

// Loads a kernel unless it is loaded. Fails without memory, or if combine_ptx.py has no such
// kernel.
ncclResult_t combine_load(struct combine_kernels *kernels, ncclDataType_t type,
                          enum combining combining);
// Launches a loaded kernel in STREAM. It combines COUNT numbers at A with COUNT numbers at B and
// stores the results at TO. For COMBINE_SCALED and COMBINE_DIVIDED, B is the address of a single
// number.
ncclResult_t combine_launch(const struct combine_kernels *kernels, ncclDataType_t type,
                            enum combining combining, CUdeviceptr to, CUdeviceptr a, CUdeviceptr b,
                            size_t count, CUstream stream);
// Unloads all kernels that are loaded.
void combine_unload(struct combine_kernels *kernels);

#endif
