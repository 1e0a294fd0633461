// SPDX-License-Identifier: BSD-3-Clause
// A copy from the device is queued while the GPU waits. The program prints "waits" after it has
// queued the copy, and lets the GPU continue after it has read a line.
#include "tests/programs/driver.h"

enum { COUNT = 1 << 18 };

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr data = device_alloc(COUNT * 4), flag = device_alloc(4);
    uint32_t *host;
    CUstream held, other;
    bool right = true;

    CHECK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&host, COUNT * 4));
    memset(host, 0, COUNT * 4);
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuStreamWaitValue32(held, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cuMemsetD32Async(data, 77, COUNT, held));
    CHECK(cuMemcpyDtoHAsync(host, data, COUNT * 4, held));
    is_int(cuStreamQuery(held), CUDA_ERROR_NOT_READY, "the copy waits");
    printf("waits\n");
    fflush(stdout);
    while (getchar() != '\n' && !feof(stdin))
        ;
    CHECK(cuMemsetD32Async(flag, 1, 1, other));
    CHECK(cuStreamSynchronize(held));
    for (int i = 0; i < COUNT; i++)
        right &= host[i] == 77;
    ok(right, "and is right in the end");
    CHECK(cuMemFreeHost(host));
    close_gpu(&gpu);
    return done();
}
