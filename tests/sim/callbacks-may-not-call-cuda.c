// SPDX-License-Identifier: BSD-3-Clause
// Tests host functions and callbacks: each is called once with its own data, and CUDA calls in it
// are refused. After a fault only callbacks run, and receive the fault.
#include "tests/sim/sim_test.h"

static CUstream stream;
static CUresult inside[3];
static CUstream seen_stream;
static int host_runs;

static void calls_cuda(void *data)
{
    CUdeviceptr address;
    inside[0] = cuMemAlloc(&address, 16);
    inside[1] = cuStreamSynchronize(stream);
    inside[2] = cuStreamQuery(stream);
}

static void counts(void *data)
{
    host_runs++;
    *(int *)data += 1;
}

static void takes_status(CUstream handle, CUresult status, void *data)
{
    seen_stream = handle;
    *(CUresult *)data = status;
}

int main(void)
{
    int first = 0, second = 0;
    CUresult status = CUDA_ERROR_UNKNOWN;
    sim_isolate("1", "256M");
    sim_context(0);
    stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuLaunchHostFunc(stream, calls_cuda, NULL));
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < 3; i++)
        is_int(inside[i], CUDA_ERROR_NOT_PERMITTED, "call %d of a host function is refused", i);
    CHECK(cuLaunchHostFunc(stream, counts, &first));
    CHECK(cuLaunchHostFunc(stream, counts, &second));
    CHECK(cuLaunchHostFunc(stream, counts, &second));
    CHECK(cuStreamAddCallback(stream, takes_status, &status, 0));
    CHECK(cuStreamSynchronize(stream));
    ok(first == 1 && second == 2, "one function with different data is called for each");
    is_int(status, CUDA_SUCCESS, "a callback is told that all is well");
    ok(seen_stream == stream, "and on which stream");
    gives(cuStreamAddCallback(stream, takes_status, &status, 1), CUDA_ERROR_INVALID_VALUE,
          "flags of callbacks are none");
    gives(cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE, "nor is no function");

    CUmodule module;
    CUfunction poke;
    CUdeviceptr nowhere = 64;
    uint32_t value = 1, *gate = sim_word();
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    CHECK(cuModuleGetFunction(&poke, module, "poke"));
    host_runs = 0;
    sim_close_gate(stream, gate);
    launch(poke, 1, 1, stream, &nowhere, &value);
    CHECK(cuLaunchHostFunc(stream, counts, &first));
    CHECK(cuStreamAddCallback(stream, takes_status, &status, 0));
    sim_open_gate(gate);
    gives(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel faults");
    is_int(host_runs, 0, "a host function behind it does not run");
    is_int(status, CUDA_ERROR_ILLEGAL_ADDRESS, "a callback does and is told");
    return done();
}
