// SPDX-License-Identifier: BSD-3-Clause
// A kernel reaches memory of another device only when peer access was enabled, or when the pool
// that the memory is from lets its device in.
#include "tests/sim/sim_test.h"

CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc *, size_t);

static CUcontext owner;
static CUdeviceptr memory;

// In a fresh context on device 0: a kernel that writes to `memory`, which is on device 1.
static CUresult write_there(bool enable)
{
    CUcontext context;
    CUmodule module;
    CUfunction poke;
    uint32_t value = 77;
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    CHECK(cuModuleGetFunction(&poke, module, "poke"));
    if (enable)
        CHECK(cuCtxEnablePeerAccess(owner, 0));
    if (enable)
        gives(cuCtxEnablePeerAccess(owner, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
              "access is enabled once");
    launch(poke, 1, 1, NULL, &memory, &value);
    CUresult result = cuCtxSynchronize();
    CHECK(cuCtxDestroy(context));
    return result;
}

int main(void)
{
    uint32_t word = 0;
    CUmemoryPool pool;
    sim_isolate("2", "256M");
    owner = sim_context(1);
    memory = device_alloc(64);
    gives(write_there(false), CUDA_ERROR_ILLEGAL_ADDRESS, "without access the kernel faults");
    gives(write_there(true), CUDA_SUCCESS, "with it the kernel runs");
    CHECK(cuCtxSetCurrent(owner));
    CHECK(cuMemcpyDtoH(&word, memory, 4));
    is_int(word, 77, "and has written");

    CHECK(cuDeviceGetDefaultMemPool(&pool, 1));
    CHECK(cuMemAllocAsync(&memory, 64, NULL));
    gives(write_there(false), CUDA_ERROR_ILLEGAL_ADDRESS, "memory of a pool is shut as well");
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemPoolSetAccess(pool, &access, 1));
    gives(write_there(false), CUDA_SUCCESS, "until the pool is opened to the device");
    CHECK(cuCtxSetCurrent(owner));
    gives(cuCtxEnablePeerAccess(owner, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
          "a device is no peer of itself");
    return done();
}
