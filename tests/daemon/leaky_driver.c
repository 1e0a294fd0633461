// SPDX-License-Identifier: BSD-3-Clause
// The software GPU with a fault that no account sees: each allocation takes LEAK bytes more than it
// says. And beside others: between the first look at the free memory and the second one they have
// taken STIR bytes, which they give back before the fourth.
#include <dlfcn.h>
#include <stdlib.h>

#include "proto/cuda_abi.h"

#define PUBLIC __attribute__((visibility("default")))

static CUresult allocate(CUdeviceptr *address, size_t size)
{
    CUresult (*next)(CUdeviceptr *, size_t) =
        (CUresult(*)(CUdeviceptr *, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");

    return next(address, size);
}

static void leak(void)
{
    CUdeviceptr leaked;
    const char *bytes = getenv("LEAK");

    if (bytes)
        allocate(&leaked, strtoull(bytes, NULL, 10));
}

PUBLIC CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    leak();
    return allocate(address, size);
}

PUBLIC CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *properties, unsigned long long flags);

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult (*next)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                     unsigned long long) =
        (CUresult(*)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                     unsigned long long))dlsym(RTLD_NEXT, "cuMemCreate");

    leak();
    return next(handle, size, properties, flags);
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
