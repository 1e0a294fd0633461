// SPDX-License-Identifier: BSD-3-Clause
// SAXPY on the Driver API: PTX text in, both forms of kernel parameters, checked element by
// element against the CPU.
#include <math.h>

#include "tests/programs/driver.h"

static unsigned wrong(const float *got, const float *x, const float *y, float a, unsigned n)
{
    unsigned bad = 0;
    for (unsigned i = 0; i < n; i++)
        bad += got[i] != fmaf(a, x[i], y[i]);
    return bad;
}

int main(void)
{
    const unsigned n = 100003;
    const size_t size = n * sizeof(float);
    float a = 2.5f;
    float *x = must_alloc(size), *y = must_alloc(size), *got = must_alloc(size);
    uint64_t seed = 42;
    for (unsigned i = 0; i < n; i++) {
        x[i] = random_float(&seed);
        y[i] = random_float(&seed);
    }

    struct gpu gpu = open_gpu(0);
    CUfunction saxpy = kernel(&gpu, "saxpy");
    CUdeviceptr dx = device_alloc(size), dy = device_alloc(size);
    CHECK(cuMemcpyHtoD(dx, x, size));
    CHECK(cuMemcpyHtoD(dy, y, size));
    launch(saxpy, (n + 255) / 256, 256, NULL, &dy, &dx, &a, (void *)&n);
    CHECK(cuMemcpyDtoH(got, dy, size));
    is_int(wrong(got, x, y, a, n), 0, "parameters by pointers: every element is right");

    struct {
        CUdeviceptr y, x;
        float a;
        unsigned n;
    } packed = {dy, dx, -0.75f, n};
    size_t packed_size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &packed_size, CU_LAUNCH_PARAM_END};
    CHECK(cuMemcpyHtoD(dy, y, size));
    CHECK(cuLaunchKernel(saxpy, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    CHECK(cuMemcpyDtoH(got, dy, size));
    is_int(wrong(got, x, y, -0.75f, n), 0, "parameters in one buffer: every element is right");

    // NCCL launches kernels that have 4 KiB of parameters with shorter buffers; the kernels read
    // only the given bytes.
    CUfunction poke = kernel(&gpu, "poke");
    packed_size = sizeof(packed.y);
    gives(cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_SUCCESS,
          "a buffer need not have all parameters");
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "and the kernel runs");

    CUlaunchConfig config = {.gridDimX = (n + 63) / 64,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CHECK(cuMemcpyHtoD(dy, y, size));
    CHECK(cuLaunchKernelEx(&config, saxpy, (void *[]){&dy, &dx, &a, (void *)&n}, NULL));
    CHECK(cuMemcpyDtoH(got, dy, size));
    is_int(wrong(got, x, y, a, n), 0, "cuLaunchKernelEx: every element is right");

    gives(cuLaunchKernel(saxpy, 1, 1, 1, 100000, 1, 1, 0, NULL,
                         (void *[]){&dy, &dx, &a, (void *)&n}, NULL),
          CUDA_ERROR_INVALID_VALUE, "a block of 100000 threads is refused");

    CHECK(cuMemFree(dx));
    CHECK(cuMemFree(dy));
    close_gpu(&gpu);
    free(x);
    free(y);
    free(got);
    return done();
}
