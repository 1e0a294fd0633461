// SPDX-License-Identifier: BSD-3-Clause
// Launches: both forms of parameters, attributes, shapes, refused launches, and streams that run
// kernels concurrently.
#include "tests/sim/sim_test.h"

static CUfunction add, wait_flag;

static uint32_t run_add(CUdeviceptr memory, void **parameters, void **extra)
{
    uint32_t word = 0;
    CHECK(cuMemsetD32(memory, 100, 8));
    CHECK(cuLaunchKernel(add, 1, 1, 1, 8, 1, 1, 0, NULL, parameters, extra));
    CHECK(cuMemcpyDtoH(&word, memory + 28, 4));
    return word;
}

static void check_parameters(CUdeviceptr memory)
{
    uint32_t n = 8, value = 5;
    struct {
        CUdeviceptr memory;
        uint32_t a, b;
    } buffer = {memory, value, n};
    uint32_t plain = run_add(memory, (void *[]){&memory, &value, &n}, NULL);
    is_int(plain, 105, "a kernel runs");
    size_t size = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    is_int(run_add(memory, NULL, extra), plain, "parameters in a buffer do the same");
    size = 8;
    gives(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_SUCCESS,
          "what a buffer leaves out at its end is zero");
    gives(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE,
          "and no parameters");
}

static CUresult shape(unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared)
{
    CUdeviceptr memory = 0;
    uint32_t n = 0, value = 0;
    return cuLaunchKernel(add, gx, gy, 1, bx, 1, bz, shared, NULL, (void *[]){&memory, &n, &value},
                          NULL);
}

static void check_shapes(void)
{
    gives(shape(0, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE, "an empty grid is refused");
    gives(shape(1, 65536, 1, 1, 0), CUDA_ERROR_INVALID_VALUE, "and one too high");
    gives(shape(1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE, "and a block too wide");
    gives(shape(1, 1, 32, 33, 0), CUDA_ERROR_INVALID_VALUE, "and too many threads in all");
    gives(shape(1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE, "and a block too deep");
    gives(shape(1, 1, 32, 1, 49153), CUDA_ERROR_INVALID_VALUE, "and too much shared memory");
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "the context survives all that");
}

static void check_attributes(CUdeviceptr memory)
{
    uint32_t n = 8, value = 1;
    void *parameters[] = {&memory, &value, &n};
    CUlaunchAttribute attributes[2] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = -1}},
        {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}},
    };
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 8,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = attributes,
                             .numAttrs = 2};
    gives(cuLaunchKernelEx(&config, add, parameters, NULL), CUDA_SUCCESS,
          "a launch with attributes runs");
    config.gridDimX = 1 << 20;
    gives(cuLaunchKernelEx(&config, add, parameters, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
          "a cooperative grid has to fit");
    attributes[1] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                        .value = {.clusterDim = {2, 1, 1}}};
    gives(cuLaunchKernelEx(&config, add, parameters, NULL), CUDA_ERROR_NOT_SUPPORTED,
          "clusters are not simulated");
    int blocks = 0;
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
    is_int(blocks, 2, "two full blocks fit on a multiprocessor");
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 48 * 1024));
    is_int(blocks, 4, "shared memory limits that");
}

static void check_concurrency(CUdeviceptr memory)
{
    CUstream waiting = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream other = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr flag = memory + 64;
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuCtxSynchronize());
    launch(wait_flag, 1, 1, waiting, &flag);
    gives(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY, "a kernel waits for a word of memory");
    CHECK(cuMemsetD32Async(flag, 1, 1, other));
    gives(cuStreamSynchronize(waiting), CUDA_SUCCESS, "which another stream writes");
}

int main(void)
{
    sim_isolate("1", "256M");
    sim_context(0);
    CUmodule module;
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuModuleGetFunction(&wait_flag, module, "wait_flag"));
    CUdeviceptr memory = device_alloc(128);
    check_parameters(memory);
    check_shapes();
    check_attributes(memory);
    check_concurrency(memory);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "nothing was lost");
    return done();
}
