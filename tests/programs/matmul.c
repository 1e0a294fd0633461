// SPDX-License-Identifier: BSD-3-Clause
// Tiled matrix product in shared memory with a two-dimensional grid, odd sizes included.
#include <math.h>

#include "tests/programs/driver.h"

static void multiply(const struct gpu *gpu, int n)
{
    size_t count = (size_t)n * n, size = count * sizeof(float);
    float *a = must_alloc(size), *b = must_alloc(size), *c = must_alloc(size);
    uint64_t seed = (uint64_t)n + 1;
    for (size_t i = 0; i < count; i++) {
        a[i] = random_float(&seed);
        b[i] = random_float(&seed);
    }
    CUdeviceptr da = device_alloc(size), db = device_alloc(size), dc = device_alloc(size);
    CHECK(cuMemcpyHtoD(da, a, size));
    CHECK(cuMemcpyHtoD(db, b, size));
    unsigned tiles = (unsigned)(n + 15) / 16;
    void *parameters[] = {&dc, &da, &db, &n};
    CHECK(cuLaunchKernel(kernel(gpu, "matmul"), tiles, tiles, 1, 16, 16, 1, 0, NULL, parameters,
                         NULL));
    CHECK(cuMemcpyDtoH(c, dc, size));

    double worst = 0;
    for (int row = 0; row < n; row++)
        for (int col = 0; col < n; col++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += (double)a[row * n + k] * b[k * n + col];
            worst = fmax(worst, fabs(sum - c[row * n + col]));
        }
    ok(worst < 1e-5 * n, "n = %d agrees with the CPU", n);
    if (worst >= 1e-5 * n)
        diag("largest difference %g", worst);
    CHECK(cuMemFree(da));
    CHECK(cuMemFree(db));
    CHECK(cuMemFree(dc));
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    static const int sizes[] = {1, 16, 17, 64, 100};
    struct gpu gpu = open_gpu(0);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        multiply(&gpu, sizes[i]);
    close_gpu(&gpu);
    return done();
}
