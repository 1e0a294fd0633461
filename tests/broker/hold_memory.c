// SPDX-License-Identifier: BSD-3-Clause
// An ordinary CUDA program that does with device memory what its standard input says, for the tests
// of budgets: "take BYTES", "free" (the last one), "info", "total". Answers one line each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/driver.h"

int main(void)
{
    static CUdeviceptr held[1000];
    size_t count = 0, available, total;
    char line[128];
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (!strncmp(line, "take ", 5)) {
            CUresult result = cuMemAlloc(&held[count], strtoull(line + 5, NULL, 10));
            count += result == CUDA_SUCCESS;
            puts(result_name(result));
        } else if (!strncmp(line, "free", 4) && count) {
            puts(result_name(cuMemFree(held[--count])));
        } else if (!strncmp(line, "info", 4)) {
            CHECK(cuMemGetInfo(&available, &total));
            printf("free %zu total %zu\n", available, total);
        } else if (!strncmp(line, "total", 5)) {
            CHECK(cuDeviceTotalMem(&total, device));
            printf("total %zu\n", total);
        }
        fflush(stdout);
    }
    return 0;
}
