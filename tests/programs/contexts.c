// SPDX-License-Identifier: BSD-3-Clause
// Contexts: primary and own ones, the stack of each thread, limits, priorities, and what happens
// to the things of a context that goes away.
#include <pthread.h>

#include "tests/programs/driver.h"

static void no_context(void)
{
    CUcontext context = (CUcontext)1;
    CUdeviceptr memory;
    CUdevice device;
    gives(cuCtxGetCurrent(&context), CUDA_SUCCESS, "the current context can be asked for");
    ok(context == NULL, "there is none at first");
    gives(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT, "no device without a context");
    gives(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT, "nor memory");
    gives(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT, "nor anything to wait for");
    gives(cuCtxPopCurrent(&context), CUDA_ERROR_INVALID_CONTEXT, "nor anything to pop");
}

static void primary(CUdevice device)
{
    CUcontext first, second, current;
    unsigned flags = 99;
    int active = -1;
    CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    is_int(active, 0, "a primary context is not active before it is retained");
    CHECK(cuDevicePrimaryCtxRetain(&first, device));
    CHECK(cuDevicePrimaryCtxRetain(&second, device));
    ok(first == second, "a device has one primary context");
    CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    is_int(active, 1, "it is active then");
    CHECK(cuCtxGetCurrent(&current));
    ok(current == NULL, "but not current by itself");
    CHECK(cuCtxSetCurrent(first));
    CHECK(cuCtxGetCurrent(&current));
    ok(current == first, "until it is made so");
    CHECK(cuDevicePrimaryCtxRelease(device));
    CUdeviceptr memory;
    gives(cuMemAlloc(&memory, 1000), CUDA_SUCCESS, "one release of two leaves it usable");
    CHECK(cuMemFree(memory));
    gives(cuCtxDestroy(first), CUDA_ERROR_INVALID_CONTEXT, "it cannot be destroyed as others");
    CHECK(cuDevicePrimaryCtxRelease(device));
    CHECK(cuCtxSetCurrent(NULL));
    CHECK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    is_int(active, 0, "the last release ends it");
}

static void stack(CUdevice device)
{
    CUcontext a, b, got;
    CHECK(cuCtxCreate_v2(&a, 0, device));
    CHECK(cuCtxCreate_v2(&b, CU_CTX_SCHED_BLOCKING_SYNC, device));
    CHECK(cuCtxGetCurrent(&got));
    ok(got == b, "a new context is current");
    CHECK(cuCtxPopCurrent(&got));
    ok(got == b, "it can be popped");
    CHECK(cuCtxGetCurrent(&got));
    ok(got == a, "and the one below is current");
    CHECK(cuCtxPushCurrent(b));
    CHECK(cuCtxPushCurrent(b));
    CHECK(cuCtxPopCurrent(&got));
    CHECK(cuCtxGetCurrent(&got));
    ok(got == b, "one context can lie on the stack twice");

    CUdeviceptr memory = device_alloc(1 << 20);
    CHECK(cuCtxSetCurrent(a));
    uint32_t word = 0;
    CHECK(cuMemsetD32(memory, 5, 1));
    CHECK(cuMemcpyDtoH(&word, memory, 4));
    is_int(word, 5, "memory of one context serves another of the same device");
    CHECK(cuCtxDestroy(b));
    CHECK(cuCtxGetCurrent(&got));
    ok(got == a, "destroying another context leaves the current one");
    CHECK(cuCtxDestroy(a));
    while (cuCtxPopCurrent(&got) == CUDA_SUCCESS)
        ;
}

static void *other_thread(void *result)
{
    CUcontext context = (CUcontext)1;
    if (cuCtxGetCurrent(&context) == CUDA_SUCCESS)
        *(CUcontext *)result = context;
    return NULL;
}

static void per_thread(CUdevice device)
{
    CUcontext context, seen = (CUcontext)1;
    pthread_t thread;
    CHECK(cuCtxCreate_v2(&context, 0, device));
    if (pthread_create(&thread, NULL, other_thread, &seen))
        bail("pthread_create");
    pthread_join(thread, NULL);
    ok(seen == NULL, "a new thread has no current context");
    CHECK(cuCtxDestroy(context));
}

static void settings(CUdevice device)
{
    CUcontext context, of_stream;
    size_t limit = 0;
    int least = 99, greatest = 99, priority = 99;
    unsigned flags = 99, version = 0;
    CUstream stream;
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
    CHECK(cuCtxGetLimit(&limit, CU_LIMIT_PRINTF_FIFO_SIZE));
    ok(limit >= 2 << 20, "a limit that was set");
    CHECK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    ok(limit > 0, "one that was not");
    ok(cuCtxGetLimit(&limit, (CUlimit)999) != CUDA_SUCCESS, "one that is none");
    CHECK(cuCtxGetApiVersion(context, &version));
    ok(version >= 3020, "the version of the interface (%u)", version);
    CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
    ok(least >= greatest, "stream priorities from %d to %d", least, greatest);
    CHECK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest));
    CHECK(cuStreamGetPriority(stream, &priority));
    CHECK(cuStreamGetFlags(stream, &flags));
    is_int(priority, greatest, "a stream keeps its priority");
    is_int(flags, CU_STREAM_NON_BLOCKING, "and its flags");
    CHECK(cuStreamGetCtx(stream, &of_stream));
    ok(of_stream == context, "and knows its context");
    CHECK(cuStreamDestroy(stream));
    CHECK(cuCtxDestroy(context));
}

static void memory_goes_with_it(CUdevice device)
{
    CUcontext keep, drop;
    size_t before, during, after, total;
    CUdeviceptr memory;
    CHECK(cuCtxCreate_v2(&keep, 0, device));
    CHECK(cuCtxCreate_v2(&drop, 0, device));
    CHECK(cuMemGetInfo(&before, &total));
    CHECK(cuMemAlloc(&memory, 64 << 20));
    CHECK(cuMemGetInfo(&during, &total));
    CHECK(cuCtxDestroy(drop));
    CHECK(cuCtxSetCurrent(keep));
    CHECK(cuMemGetInfo(&after, &total));
    ok(during < before, "an allocation takes memory");
    ok(after >= before, "which its context gives back when it goes");
    CHECK(cuCtxDestroy(keep));
}

int main(void)
{
    CUdevice device;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    no_context();
    primary(device);
    stack(device);
    per_thread(device);
    settings(device);
    memory_goes_with_it(device);
    return done();
}
