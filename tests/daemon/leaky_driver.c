// SPDX-License-Identifier: BSD-3-Clause
// The software GPU with a fault that no account sees: each allocation takes LEAK bytes more than it says.
#include <dlfcn.h>
#include <stdlib.h>

#include "proto/cuda_abi.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    CUresult (*next)(CUdeviceptr *, size_t) =
        (CUresult(*)(CUdeviceptr *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");
    CUdeviceptr leaked;
    const char *leak = getenv("LEAK");

    if (leak)
        next(&leaked, strtoull(leak, NULL, 10));
    return next(address, size);
}
