// SPDX-License-Identifier: BSD-3-Clause
// Many threads at once on one context and on contexts of their own, with handles that other
// threads destroy meanwhile: results stay right, errors are those of the documentation.
#include "tests/sim/sim_test.h"

enum { THREADS = 8, ROUNDS = 40, WORDS = 5000 };

static CUcontext shared_context;
static CUfunction add;
static atomic_int failures;
static _Atomic(CUstream) common_stream;
static _Atomic(CUevent) common_event;

#define MUST(call) \
    do { \
        CUresult result_ = (call); \
        if (result_) { \
            diag("%s gave %s", #call, result_name(result_)); \
            atomic_fetch_add(&failures, 1); \
            return; \
        } \
    } while (0)

// Copies up, computes on, and copies down words in a stream of this thread's.
static void compute(uint32_t seed)
{
    static _Thread_local uint32_t host[WORDS], back[WORDS];
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    uint32_t n = WORDS, value = seed;
    for (int i = 0; i < WORDS; i++)
        host[i] = seed * 31 + (uint32_t)i;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&event, 0));
    MUST(cuMemAllocAsync(&memory, sizeof(host), stream));
    MUST(cuMemcpyHtoDAsync(memory, host, sizeof(host), stream));
    MUST(cuLaunchKernel(add, 4, 1, 1, 64, 1, 1, 0, stream, (void *[]){&memory, &value, &n}, NULL));
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
    MUST(cuMemcpyDtoHAsync(back, memory, sizeof(back), CU_STREAM_PER_THREAD));
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    MUST(cuMemFreeAsync(memory, stream));
    MUST(cuEventDestroy(event));
    MUST(cuStreamDestroy(stream));
    for (int i = 0; i < WORDS; i++) {
        if (back[i] != host[i] + value) {
            atomic_fetch_add(&failures, 1);
            return;
        }
    }
}

// Any of these may find its handle gone; nothing else may go wrong.
static void use_common_handles(void)
{
    CUstream stream = atomic_load(&common_stream), fresh;
    CUevent event = atomic_load(&common_event);
    CUresult results[] = {cuStreamQuery(stream), cuEventRecord(event, stream),
                          cuEventSynchronize(event), cuStreamWaitEvent(stream, event, 0)};
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (results[i] != CUDA_SUCCESS && results[i] != CUDA_ERROR_NOT_READY &&
            results[i] != CUDA_ERROR_INVALID_HANDLE &&
            results[i] != CUDA_ERROR_CONTEXT_IS_DESTROYED)
            atomic_fetch_add(&failures, 1);
    MUST(cuStreamCreate(&fresh, 0));
    cuStreamDestroy(atomic_exchange(&common_stream, fresh));
}

static void own_context(void)
{
    CUcontext context;
    CUdeviceptr memory;
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuMemAlloc(&memory, 4096));
    MUST(cuMemsetD8Async(memory, 1, 4096, NULL));
    MUST(cuCtxDestroy(context));
}

static void *work(void *argument)
{
    uint32_t seed = (uint32_t)(uintptr_t)argument;
    cuCtxSetCurrent(shared_context);
    for (int round = 0; round < ROUNDS; round++) {
        compute(seed * 1000 + (uint32_t)round);
        use_common_handles();
        if (round % 8 == 0)
            own_context();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    CUmodule module;
    CUstream stream;
    CUevent event;
    size_t before, after, total;
    sim_isolate("1", "512M");
    shared_context = sim_context(0);
    CHECK(cuModuleLoadData(&module, kernels_ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    atomic_store(&common_stream, stream);
    atomic_store(&common_event, event);
    CHECK(cuMemGetInfo(&before, &total));
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            bail("no threads");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    is_int(atomic_load(&failures), 0, "%d threads of %d rounds had no trouble", THREADS, ROUNDS);
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "the context is sound");
    CHECK(cuMemGetInfo(&after, &total));
    is_int(after, before, "and no memory is missing");
    return done();
}
