// SPDX-License-Identifier: BSD-3-Clause
// The software GPU with a fault that no account sees: each allocation takes LEAK bytes more than it
// says. And beside others: between the first look at the free memory and the second one they have
// taken STIR bytes, which they give back before the fourth.
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

PUBLIC CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total);

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CUresult (*next)(size_t *, size_t *) =
        (CUresult(*)(size_t *, size_t *))dlsym(RTLD_NEXT, "cuMemGetInfo_v2");
    static int looks;
    const char *stir = getenv("STIR");
    CUresult result = next(free_bytes, total);

    looks++;
    if (stir && !result && (looks == 2 || looks == 3))
        *free_bytes -= strtoull(stir, NULL, 10);
    return result;
}
