// SPDX-License-Identifier: BSD-3-Clause
// Ends a context right behind calls that free its memory, many times. The client does not wait for
// these calls, so the box must carry them out before the context ends.
// usage: freed-at-the-end TIMES
#include "tests/programs/driver.h"

enum { PIECES = 4, SIZE = 256 << 10 };

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1, wrong = 0;
    uint32_t *host = must_alloc(SIZE);
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    for (int i = 0; i < times; i++) {
        CUdeviceptr pieces[PIECES];
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        CHECK(cuCtxSetCurrent(context));
        for (int k = 0; k < PIECES; k++)
            CHECK(cuMemAlloc(&pieces[k], SIZE));
        for (int k = 0; k < PIECES; k++)
            CHECK(cuMemcpyHtoD(pieces[k], host, SIZE));
        CHECK(cuCtxSynchronize());
        for (int k = 0; k < PIECES; k++)
            CHECK(cuMemFree(pieces[k]));
        wrong += cuDevicePrimaryCtxRelease(device) != CUDA_SUCCESS;
    }
    is_int(wrong, 0, "no end of a context of %d fails", times);
    free(host);
    return done();
}
