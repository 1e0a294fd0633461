// SPDX-License-Identifier: BSD-3-Clause
// A sum by warp shuffles, shared memory and one atomic addition per block; exact, as it is in
// integers.
#include "tests/programs/driver.h"

static void reduce(const struct gpu *gpu, unsigned n, unsigned grid, unsigned block)
{
    size_t size = (size_t)n * 4;
    uint32_t *in = must_alloc(size);
    uint64_t want = 0, got = 0;
    fill_random(in, size, n);
    for (unsigned i = 0; i < n; i++)
        want += in[i];
    CUdeviceptr din = device_alloc(size), out = device_alloc(8);
    CHECK(cuMemcpyHtoD(din, in, size));
    CHECK(cuMemsetD8(out, 0, 8));
    launch(kernel(gpu, "reduce"), grid, block, NULL, &out, &din, &n);
    CHECK(cuMemcpyDtoH(&got, out, 8));
    ok(got == want, "%u numbers by %u blocks of %u", n, grid, block);
    CHECK(cuMemFree(din));
    CHECK(cuMemFree(out));
    free(in);
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    reduce(&gpu, 1, 1, 32);
    reduce(&gpu, 31, 1, 64);
    reduce(&gpu, 1000, 3, 96);
    reduce(&gpu, 50021, 8, 256);
    reduce(&gpu, 65536, 4, 1024);
    close_gpu(&gpu);
    return done();
}
