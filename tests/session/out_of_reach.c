// SPDX-License-Identifier: BSD-3-Clause
// A program that lets a GPU touch page-locked memory of its own. usage: out-of-reach pointer|kernel
#include "tests/programs/driver.h"

enum { N = 32 };

int main(int argc, char **argv)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr address = 0;
    unsigned *words, value = 1, n = N;
    CHECK(cuMemHostAlloc((void **)&words, N * sizeof(*words), CU_MEMHOSTALLOC_DEVICEMAP));
    if (argc == 2 && !strcmp(argv[1], "pointer")) {
        printf("pointer: %s\n", result_name(cuMemHostGetDevicePointer(&address, words, 0)));
        return 0;
    }
    address = (CUdeviceptr)(uintptr_t)words;
    launch(kernel(&gpu, "add"), 1, N, NULL, &address, &value, &n);
    printf("kernel: %s\n", result_name(cuCtxSynchronize()));
    return 0;
}
