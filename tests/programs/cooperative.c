// SPDX-License-Identifier: BSD-3-Clause
// Cooperative launches, where all blocks run at once and can wait for each other, and the
// occupancy calculations that go with them.
#include "tests/programs/driver.h"

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUfunction barrier = kernel(&gpu, "grid_barrier"), shared = kernel(&gpu, "dynamic_shared");
    int blocks = 0, fewer = 0, grid = 0, block = 0;
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 128, 0));
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, shared, 128, 40000));
    ok(blocks >= 1, "some blocks fit on a multiprocessor (%d)", blocks);
    ok(fewer >= 1 && fewer < blocks, "fewer of them when each takes 40000 bytes (%d)", fewer);
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, shared, NULL, 0, 0));
    ok(grid >= 1 && block >= 32 && block <= 1024, "a suggested launch: %d blocks of %d", grid,
       block);

    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)) {
        skip(3, "the device says that it has no cooperative launch");
        return done();
    }
    int multiprocessors = device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, barrier, 32, 0));
    unsigned fit = (unsigned)(blocks * multiprocessors), n = fit < 12 ? fit : 12, wrong = 0;
    uint32_t got[13];
    CUdeviceptr arrived = device_alloc(13 * 4), out = device_alloc(12 * 4);
    void *arguments[] = {&arrived, &out};
    CHECK(cuMemsetD32(arrived, 0, 13));
    gives(cuLaunchCooperativeKernel(barrier, n, 1, 1, 32, 1, 1, 0, NULL, arguments), CUDA_SUCCESS,
          "a cooperative launch of %u blocks", n);
    CHECK(cuMemcpyDtoH(got, arrived, sizeof got));
    for (unsigned i = 0; i < n; i++)
        wrong += got[1 + i] != n * (n + 1) / 2;
    is_int(wrong, 0, "every block waited for all the others");
    gives(cuLaunchCooperativeKernel(barrier, fit + 1, 1, 1, 32, 1, 1, 0, NULL, arguments),
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "one block more than fit is refused");
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree(arrived));
    CHECK(cuMemFree(out));
    close_gpu(&gpu);
    return done();
}
