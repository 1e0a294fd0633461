// SPDX-License-Identifier: BSD-3-Clause
// Says what cuCtxGetCacheConfig gives twice, and whether memory can be had after it: "801 801 0".
#include <stdio.h>

#include "proto/cuda_abi.h"

CUresult cuInit(unsigned int flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCacheConfig(CUfunc_cache *config);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);

int main(void)
{
    CUcontext context;
    CUfunc_cache config;
    CUdeviceptr address;
    CUresult result = cuInit(0);

    if (result == CUDA_SUCCESS)
        result = cuDevicePrimaryCtxRetain(&context, 0);
    if (result == CUDA_SUCCESS)
        result = cuCtxSetCurrent(context);
    if (result != CUDA_SUCCESS) {
        printf("%d\n", (int)result);
        return 1;
    }
    int first = (int)cuCtxGetCacheConfig(&config), second = (int)cuCtxGetCacheConfig(&config);
    printf("%d %d %d\n", first, second, (int)cuMemAlloc_v2(&address, 4096));
    return 0;
}
