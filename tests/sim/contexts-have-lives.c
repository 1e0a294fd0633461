// SPDX-License-Identifier: BSD-3-Clause
// Contexts: the stack, primary contexts with their counts, flags and resets, and what calls say
// when their context has gone.
#include "tests/sim/sim_test.h"

static void check_stack(void)
{
    CUcontext a, b, now;
    CUdevice device = -1;
    CHECK(cuCtxCreate_v2(&a, CU_CTX_SCHED_SPIN, 0));
    CHECK(cuCtxCreate_v2(&b, 0, 1));
    CHECK(cuCtxGetCurrent(&now));
    ok(now == b, "a new context is current");
    CHECK(cuCtxGetDevice(&device));
    is_int(device, 1, "on its device");
    CHECK(cuCtxPopCurrent(&now));
    ok(now == b, "and on top of the stack");
    CHECK(cuCtxGetCurrent(&now));
    ok(now == a, "above the one before");
    CHECK(cuCtxPushCurrent(b));
    CHECK(cuCtxDestroy(a));
    CHECK(cuCtxPopCurrent(NULL));
    CUdeviceptr address;
    gives(cuMemAlloc(&address, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED,
          "a destroyed context that is current says so");
    CHECK(cuCtxPopCurrent(NULL));
    gives(cuCtxPopCurrent(NULL), CUDA_ERROR_INVALID_CONTEXT, "an empty stack gives nothing");
    CHECK(cuCtxDestroy(b));
}

static void check_primary(void)
{
    CUcontext first, second;
    unsigned flags;
    int active = -1;
    unsigned long long id, id_again;
    CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    is_int(active, 0, "a primary context sleeps at first");
    CHECK(cuDevicePrimaryCtxSetFlags_v2(1, CU_CTX_SCHED_BLOCKING_SYNC));
    CHECK(cuDevicePrimaryCtxRetain(&first, 1));
    CHECK(cuDevicePrimaryCtxRetain(&second, 1));
    ok(first == second, "there is one for a device");
    CHECK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    is_int(active, 1, "it is active then");
    is_int(flags, CU_CTX_SCHED_BLOCKING_SYNC, "with the flags that were set");
    gives(cuCtxDestroy(first), CUDA_ERROR_INVALID_CONTEXT, "it cannot be destroyed");
    CHECK(cuCtxSetCurrent(first));
    CHECK(cuCtxGetId(first, &id));
    CUdeviceptr address = device_alloc(1 << 20);
    CUstream stream = sim_stream(0);
    CHECK(cuDevicePrimaryCtxRelease(1));
    gives(cuMemFree(address), CUDA_SUCCESS, "one release of two leaves it alive");
    address = device_alloc(1 << 20);
    CHECK(cuDevicePrimaryCtxReset(1));
    gives(cuMemFree(address), CUDA_ERROR_CONTEXT_IS_DESTROYED, "a reset ends it");
    gives(cuStreamQuery(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED, "and what belongs to it");
    CHECK(cuDevicePrimaryCtxRetain(&second, 1));
    ok(first == second, "a new life has the old handle");
    CHECK(cuCtxGetId(second, &id_again));
    ok(id != id_again, "and a new id");
    gives(cuMemAlloc(&address, 1 << 20), CUDA_SUCCESS, "and works");
    CHECK(cuDevicePrimaryCtxRelease(1));
    CHECK(cuDevicePrimaryCtxRelease(1));
    gives(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT,
          "it is released as often as "
          "retained");
    CHECK(cuCtxSetCurrent(NULL));
}

static void check_accounting(void)
{
    CUcontext context, extra;
    size_t before, after, total;
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuMemGetInfo(&before, &total));
    CHECK(cuCtxCreate_v2(&extra, 0, 0));
    CHECK(cuMemGetInfo(&after, &total));
    is_int(before - after, 16 << 20, "a context costs what was set");
    device_alloc(32 << 20);
    CHECK(cuCtxDestroy(extra));
    CHECK(cuMemGetInfo(&after, &total));
    is_int(after, before, "all that it held comes back with it");
    gives(cuCtxCreate_v2(&extra, 3, 0), CUDA_ERROR_INVALID_VALUE, "flags are checked");
    gives(cuCtxCreate_v2(&extra, 0, 7), CUDA_ERROR_INVALID_DEVICE, "and devices");
    CHECK(cuCtxDestroy(context));
}

int main(void)
{
    sim_isolate("2", "256M");
    CHECK(cuInit(0));
    check_stack();
    check_primary();
    check_accounting();
    return done();
}
