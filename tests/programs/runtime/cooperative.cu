// SPDX-License-Identifier: BSD-3-Clause
// Cooperative groups: a barrier across the whole grid, and tiles of a warp.
#include <cooperative_groups.h>

#include "runtime.h"

namespace groups = cooperative_groups;

__global__ void two_phases(unsigned *data, unsigned *sums)
{
    auto grid = groups::this_grid();
    auto tile = groups::tiled_partition<8>(groups::this_thread_block());
    unsigned i = grid.thread_rank();
    data[i] = i + 1;
    grid.sync();
    unsigned value = data[grid.size() - 1 - i];
    for (int d = 4; d; d >>= 1)
        value += tile.shfl_down(value, d);
    if (tile.thread_rank() == 0)
        sums[i / 8] = value;
}

int main()
{
    int cooperative = 0, per_sm = 0, sms = 0;
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    if (!cooperative)
        skip_all("the device says that it has no cooperative launch");
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, two_phases, 64, 0));
    unsigned blocks = per_sm * sms < 10 ? per_sm * sms : 10, n = blocks * 64, wrong = 0;
    unsigned *data, *sums;
    CHECK(cudaMalloc(&data, n * 4));
    CHECK(cudaMalloc(&sums, n / 8 * 4));
    void *arguments[] = {&data, &sums};
    CHECK(cudaLaunchCooperativeKernel((void *)two_phases, blocks, 64, arguments, 0, 0));
    std::vector<unsigned> got(n / 8);
    CHECK(cudaMemcpy(got.data(), sums, n / 8 * 4, cudaMemcpyDeviceToHost));
    for (unsigned t = 0; t < n / 8; t++) {
        unsigned want = 0;
        for (unsigned i = t * 8; i < t * 8 + 8; i++)
            want += n - i;
        wrong += got[t] != want;
    }
    is_int(wrong, 0, "%u blocks met in the middle of a kernel", blocks);
    CHECK(cudaFree(data));
    CHECK(cudaFree(sums));
    return done();
}
