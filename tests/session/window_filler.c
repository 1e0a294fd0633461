// SPDX-License-Identifier: BSD-3-Clause
// Allocates more page-locked memory than a window has, in pieces of 8 MiB, and computes with all of
// it. usage: window-filler PIECES
#include "tests/programs/driver.h"

#include <string.h>

enum { PIECE = 8 << 20, PIECES_MAX = 64 };

int main(int argc, char **argv)
{
    int pieces = argc > 1 ? atoi(argv[1]) : 1, mapped = 0;
    struct gpu gpu = open_gpu(0);
    uint32_t *memory[PIECES_MAX], *back = must_alloc(PIECE);
    CUdeviceptr device;

    CHECK(cuMemAlloc(&device, PIECE));
    for (int i = 0; i < pieces && i < PIECES_MAX; i++) {
        CUdeviceptr there;
        CHECK(cuMemHostAlloc((void **)&memory[i], PIECE, 0));
        mapped += cuMemHostGetDevicePointer(&there, memory[i], 0) == CUDA_SUCCESS;
        memset(memory[i], 1 + i, PIECE);
    }
    for (int i = 0; i < pieces && i < PIECES_MAX; i++) {
        CHECK(cuMemcpyHtoD(device, memory[i], PIECE));
        memset(memory[i], 0, PIECE);
        CHECK(cuMemcpyDtoH(memory[i], device, PIECE));
        memset(back, 1 + i, PIECE);
        if (memcmp(memory[i], back, PIECE) != 0) {
            printf("wrong data in piece %d\n", i);
            return 1;
        }
        CHECK(cuMemFreeHost(memory[i]));
    }
    printf("%d pieces, of which the GPU has %d\n", pieces, mapped);
    CHECK(cuDevicePrimaryCtxRelease(gpu.device));
    return 0;
}
