// SPDX-License-Identifier: BSD-3-Clause
// Threads that copy while others free memory, load and unload code, and destroy pools. For these
// calls a driver waits for the work of every stream, and blocks new work of all threads meanwhile.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/programs/driver.h"

#define COPIERS 3
#define ROUNDS 25
#define N (192u * 1024)

static struct gpu gpu;
static atomic_bool copied;

struct job {
    void *(*work)(void *);
    pthread_t thread;
    unsigned wrong, rounds;
    CUresult failure;
};

// There and back, with a kernel between: one way from pageable memory, the other from page-locked.
static CUresult round_trip(CUstream stream, CUdeviceptr data, uint32_t *there, uint32_t *back,
                           unsigned value)
{
    unsigned n = N;
    CUfunction add;
    CUresult result = cuModuleGetFunction(&add, gpu.module, "add");
    if (!result)
        result = cuMemcpyHtoDAsync(data, there, N * 4, stream);
    if (!result)
        result = cuLaunchKernel(add, N / 128, 1, 1, 128, 1, 1, 0, stream,
                                (void *[]){&data, &value, &n}, NULL);
    if (!result)
        result = cuMemcpyDtoHAsync(back, data, N * 4, stream);
    return result ? result : cuStreamSynchronize(stream);
}

static void *copy(void *argument)
{
    struct job *job = argument;
    uint32_t *pageable = must_alloc(N * 4), *locked;
    CUstream stream;
    CUdeviceptr data;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    JOB_TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    JOB_TRY(cuMemAllocHost((void **)&locked, N * 4));
    JOB_TRY(cuMemAlloc(&data, N * 4));
    for (; job->rounds < ROUNDS; job->rounds++) {
        bool swap = job->rounds % 2;
        uint32_t *there = swap ? locked : pageable, *back = swap ? pageable : locked;
        for (unsigned i = 0; i < N; i++)
            there[i] = i ^ job->rounds;
        JOB_TRY(round_trip(stream, data, there, back, 7));
        for (unsigned i = 0; i < N; i++)
            job->wrong += back[i] != (i ^ job->rounds) + 7;
    }
    JOB_TRY(cuMemFree(data));
    JOB_TRY(cuMemFreeHost(locked));
    JOB_TRY(cuStreamDestroy(stream));
    free(pageable);
    return NULL;
}

static void *free_memory(void *argument)
{
    struct job *job = argument;
    CUdeviceptr data;
    void *host;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    for (; !atomic_load(&copied); job->rounds++) {
        JOB_TRY(cuMemAlloc(&data, 1 << 20));
        JOB_TRY(cuMemFree(data));
        JOB_TRY(cuMemAllocHost(&host, 1 << 16));
        JOB_TRY(cuMemFreeHost(host));
    }
    return NULL;
}

static void *load_code(void *argument)
{
    struct job *job = argument;
    CUmodule module;
    CUlibrary library;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    for (; !atomic_load(&copied); job->rounds++) {
        JOB_TRY(cuModuleLoadData(&module, kernels_ptx));
        JOB_TRY(cuModuleUnload(module));
        JOB_TRY(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
        JOB_TRY(cuLibraryUnload(library));
    }
    return NULL;
}

static void *destroy_pools(void *argument)
{
    struct job *job = argument;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device}};
    CUstream stream;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    JOB_TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (; !atomic_load(&copied); job->rounds++) {
        CUmemoryPool pool;
        CUdeviceptr data;
        JOB_TRY(cuMemPoolCreate(&pool, &props));
        JOB_TRY(cuMemAllocFromPoolAsync(&data, 4096, pool, stream));
        JOB_TRY(cuMemFreeAsync(data, stream));
        JOB_TRY(cuStreamSynchronize(stream));
        JOB_TRY(cuMemPoolDestroy(pool));
    }
    JOB_TRY(cuStreamDestroy(stream));
    return NULL;
}

static void start(struct job *job)
{
    if (pthread_create(&job->thread, NULL, job->work, job))
        bail("pthread_create");
}

static void is_through(struct job *job, const char *what)
{
    pthread_join(job->thread, NULL);
    is_int(job->failure, CUDA_SUCCESS, "%s", what);
}

int main(void)
{
    struct job copiers[COPIERS] = {{0}};
    struct job frees = {.work = free_memory}, loads = {.work = load_code};
    struct job pools = {.work = destroy_pools};
    gpu = open_gpu(0);
    for (int i = 0; i < COPIERS; i++) {
        copiers[i].work = copy;
        start(&copiers[i]);
    }
    start(&frees);
    start(&loads);
    start(&pools);
    for (int i = 0; i < COPIERS; i++) {
        is_through(&copiers[i], "a thread copies");
        is_int(copiers[i].wrong, 0, "all data right");
    }
    atomic_store(&copied, true);
    is_through(&frees, "while another frees memory of the device and of the host");
    is_through(&loads, "one loads and unloads code");
    is_through(&pools, "and one destroys pools");
    diag("rounds: %u frees, %u loads, %u pools", frees.rounds, loads.rounds, pools.rounds);
    close_gpu(&gpu);
    return done();
}
