// SPDX-License-Identifier: BSD-3-Clause
// A CUDA program that allocates memory on its first GPU, and page-locked memory, says so, and waits
// to be ended.
#include <stdio.h>
#include <unistd.h>

#include "proto/cuda_abi.h"
#include "tests/programs/driver_calls.h"

int main(void)
{
    CUcontext context;
    CUdeviceptr memory;
    CUdevice device;
    void *host;
    CUresult result = cuInit(0);

    if (!result)
        result = cuDeviceGet(&device, 0);
    if (!result)
        result = cuDevicePrimaryCtxRetain(&context, device);
    if (!result)
        result = cuCtxSetCurrent(context);
    if (!result)
        result = cuMemAlloc(&memory, 64 << 20);
    if (!result)
        result = cuMemAllocHost(&host, 1 << 20);
    printf("%s %d\n", result ? "failed" : "holding", result);
    fflush(stdout);
    while (!result)
        pause();
    return 1;
}
