// SPDX-License-Identifier: BSD-3-Clause
// A program that has taken all keys for thread-specific data of the process: CUDA calls fail, and
// work once there are keys again; the program continues.
#include <pthread.h>

#include "tests/programs/driver.h"

static pthread_key_t keys[1 << 16];
static unsigned count;

int main(void)
{
    CUdevice device;
    CUcontext context;
    while (count < sizeof keys / sizeof *keys && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    ok(count > 0, "the process has %u keys left", count);
    CUresult started = cuInit(0);
    if (started == CUDA_SUCCESS) {
        CHECK(cuDeviceGet(&device, 0));
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        gives(cuCtxSetCurrent(context), CUDA_ERROR_OUT_OF_MEMORY, "no context can be current");
        gives(cuCtxPushCurrent(context), CUDA_ERROR_OUT_OF_MEMORY, "nor be pushed");
    }
    while (count)
        pthread_key_delete(keys[--count]);
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, 0));
    launch(kernel(&gpu, "empty"), 1, 1, CU_STREAM_PER_THREAD, NULL);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "with keys it works");
    close_gpu(&gpu);
    return done();
}
