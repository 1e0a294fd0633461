// SPDX-License-Identifier: BSD-3-Clause
// A CUDA program that sends a text to its first GPU again and again, in small and large copies, and
// fetches it back. usage: copy_pattern TEXT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda_abi.h"
#include "tests/programs/driver_calls.h"

enum { LARGE = 8 << 20 };

static void check(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("failed %s %d\n", call, result);
    exit(1);
}

static void there_and_back(CUdeviceptr device, char *to, const char *from, size_t size)
{
    memset(to, 0, size);
    check(cuMemcpyHtoD(device, from, size), "cuMemcpyHtoD");
    check(cuMemcpyDtoH(to, device, size), "cuMemcpyDtoH");
    if (memcmp(to, from, size)) {
        printf("failed: %zu bytes came back as others\n", size);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    char *from = malloc(LARGE), *to = malloc(LARGE);
    CUcontext context;
    CUdeviceptr memory;
    CUdevice device;

    if (argc != 2 || !from || !to)
        return 2;
    for (size_t at = 0, length = strlen(argv[1]); at < LARGE; at++)
        from[at] = argv[1][at % length];
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuMemAlloc(&memory, LARGE), "cuMemAlloc");
    there_and_back(memory, to, from, 4096);
    there_and_back(memory, to, from, 60000);
    there_and_back(memory, to, from, LARGE);
    puts("copied");
    free(from);
    free(to);
    return 0;
}
