// SPDX-License-Identifier: BSD-3-Clause
// See cupti_calls.h. Programs call the CUDA runtime, which calls the driver's library; the latter
// cannot distinguish calls of the runtime from the program's own. Profilers look for the runtime's
// calls, so calls that give the GPU work or wait for it are recorded under the runtime's names.
#include "client-lib/cupti/cupti_calls.h"

#include <stddef.h>
#include <string.h>

struct call_of_driver {
    const char *name;
    uint32_t number;
};
static const struct call_of_driver driver_calls[] = {
#include "cupti_numbers.h"
};
enum { DRIVER_CALLS = sizeof(driver_calls) / sizeof(driver_calls[0]) };

struct call_of_runtime {
    const char *driver, *name;
    uint32_t number;
};
static const struct call_of_runtime runtime_calls[] = {
    {"cuCtxSynchronize", "cudaDeviceSynchronize", 165},
    {"cuEventCreate", "cudaEventCreateWithFlags", 134},
    {"cuEventDestroy_v2", "cudaEventDestroy", 136},
    {"cuEventQuery", "cudaEventQuery", 138},
    {"cuEventRecord", "cudaEventRecord", 135},
    {"cuEventSynchronize", "cudaEventSynchronize", 137},
    {"cuGraphLaunch", "cudaGraphLaunch", 311},
    {"cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel", 269},
    {"cuLaunchKernel", "cudaLaunchKernel", 211},
    {"cuLaunchKernelEx", "cudaLaunchKernelExC", 430},
    {"cuMemAllocAsync", "cudaMallocAsync", 373},
    {"cuMemAlloc_v2", "cudaMalloc", 20},
    {"cuMemFreeAsync", "cudaFreeAsync", 375},
    {"cuMemFreeHost", "cudaFreeHost", 26},
    {"cuMemFree_v2", "cudaFree", 22},
    {"cuMemHostAlloc", "cudaHostAlloc", 27},
    {"cuMemcpy", "cudaMemcpy", 31},
    {"cuMemcpy2DAsync_v2", "cudaMemcpy2DAsync", 44},
    {"cuMemcpy2DUnaligned_v2", "cudaMemcpy2D", 32},
    {"cuMemcpy2D_v2", "cudaMemcpy2D", 32},
    {"cuMemcpy3DAsync_v2", "cudaMemcpy3DAsync", 145},
    {"cuMemcpy3D_v2", "cudaMemcpy3D", 144},
    {"cuMemcpyAsync", "cudaMemcpyAsync", 41},
    {"cuMemcpyDtoDAsync_v2", "cudaMemcpyAsync", 41},
    {"cuMemcpyDtoD_v2", "cudaMemcpy", 31},
    {"cuMemcpyDtoHAsync_v2", "cudaMemcpyAsync", 41},
    {"cuMemcpyDtoH_v2", "cudaMemcpy", 31},
    {"cuMemcpyHtoDAsync_v2", "cudaMemcpyAsync", 41},
    {"cuMemcpyHtoD_v2", "cudaMemcpy", 31},
    {"cuMemcpyPeer", "cudaMemcpyPeer", 160},
    {"cuMemcpyPeerAsync", "cudaMemcpyPeerAsync", 161},
    {"cuMemsetD16Async", "cudaMemsetAsync", 51},
    {"cuMemsetD16_v2", "cudaMemset", 49},
    {"cuMemsetD32Async", "cudaMemsetAsync", 51},
    {"cuMemsetD32_v2", "cudaMemset", 49},
    {"cuMemsetD8Async", "cudaMemsetAsync", 51},
    {"cuMemsetD8_v2", "cudaMemset", 49},
    {"cuStreamCreate", "cudaStreamCreateWithFlags", 198},
    {"cuStreamCreateWithPriority", "cudaStreamCreateWithPriority", 202},
    {"cuStreamDestroy_v2", "cudaStreamDestroy", 130},
    {"cuStreamIsCapturing", "cudaStreamIsCapturing", 317},
    {"cuStreamQuery", "cudaStreamQuery", 132},
    {"cuStreamSynchronize", "cudaStreamSynchronize", 131},
    {"cuStreamWaitEvent", "cudaStreamWaitEvent", 147},
};
enum { RUNTIME_CALLS = sizeof(runtime_calls) / sizeof(runtime_calls[0]) };

uint32_t driver_call_number(const char *name)
{
    size_t low = 0, high = DRIVER_CALLS; // in the order of their names
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, driver_calls[middle].name);
        if (!order)
            return driver_calls[middle].number;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

uint32_t runtime_call_number(const char *name)
{
    size_t low = 0, high = RUNTIME_CALLS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, runtime_calls[middle].driver);
        if (!order)
            return runtime_calls[middle].number;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

const char *driver_call_name(uint32_t number)
{
    for (size_t i = 0; i < DRIVER_CALLS; i++)
        if (driver_calls[i].number == number)
            return driver_calls[i].name;
    return NULL;
}

const char *runtime_call_name(uint32_t number)
{
    for (size_t i = 0; i < RUNTIME_CALLS; i++)
        if (runtime_calls[i].number == number)
            return runtime_calls[i].name;
    return NULL;
}
