// SPDX-License-Identifier: BSD-3-Clause
// A kernel is launched for the first time while a stream of its GPU waits for data of another GPU.
// A driver that loads the kernel's code only then may wait for that stream, so the delivery of the
// data must not need the driver. The module that prints makes NVIDIA's driver wait: the driver sets
// up the print buffer at the next launch.
#include "tests/programs/driver.h"
#include "tests/programs/printing.h"

int main(void)
{
    struct gpu gpu[2];
    CUmodule printing[2];
    CUstream stream[2], beside;
    CUdeviceptr flag, one, sum, number;
    unsigned long long pause = 300000000;
    unsigned n = 1, first = 1;
    need_two_devices();
    for (int d = 0; d < 2; d++) {
        gpu[d] = open_gpu(d);
        CHECK(cuModuleLoadData(&printing[d], printing_ptx));
        CHECK(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING));
    }
    one = device_alloc(4); // of the second GPU
    CHECK(cuMemsetD32(one, 1, 1));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxSetCurrent(gpu[0].context));
    CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    flag = device_alloc(4);
    number = device_alloc(4);
    sum = device_alloc(4);
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuMemsetD32(number, 41, 1));
    CHECK(cuMemsetD32(sum, 0, 1));
    CHECK(cuCtxSynchronize());
    // The first copy between the two devices has side effects, so make it early.
    CHECK(cuMemcpyPeerAsync(sum, gpu[0].context, one, gpu[1].context, 4, stream[1]));
    CHECK(cuStreamSynchronize(stream[1]));

    CHECK(cuStreamWaitValue32(stream[0], flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cuCtxSetCurrent(gpu[1].context));
    launch(kernel(&gpu[1], "delay"), 1, 1, stream[1], &pause);
    CHECK(cuMemcpyPeerAsync(flag, gpu[0].context, one, gpu[1].context, 4, stream[1]));
    CHECK(cuCtxSetCurrent(gpu[0].context));
    launch(kernel(&gpu[0], "add"), 1, 1, beside, &number, &first, &n);
    gives(cuStreamSynchronize(beside), CUDA_SUCCESS, "a kernel is launched for the first time");
    is_int(word_at(number), 42, "and runs");
    gives(cuStreamSynchronize(stream[0]), CUDA_SUCCESS, "what was waited for has come");
    for (int d = 0; d < 2; d++)
        close_gpu(&gpu[d]);
    return done();
}
