// SPDX-License-Identifier: BSD-3-Clause
// A CUDA program that loads an image of many bytes, MEBIBYTES of them blanks, and says with which
// result.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda_abi.h"
#include "tests/programs/driver_calls.h"

int main(int argc, char **argv)
{
    static const char start[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
    size_t size = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) << 20;
    char *image = malloc(size + 1);
    CUcontext context;
    CUmodule module;
    CUdevice device;
    CUresult result = image ? cuInit(0) : CUDA_ERROR_UNKNOWN;

    if (image) {
        memset(image, ' ', size);
        memcpy(image, start, sizeof(start) - 1);
        image[size] = '\0';
    }
    if (!result)
        result = cuDeviceGet(&device, 0);
    if (!result)
        result = cuDevicePrimaryCtxRetain(&context, device);
    if (!result)
        result = cuCtxSetCurrent(context);
    if (!result)
        result = cuModuleLoadData(&module, image);
    printf("loaded %d\n", result);
    return 0;
}
