// SPDX-License-Identifier: BSD-3-Clause
// Memory that is allocated and freed again and again. Each allocation is one of its own, however
// the driver comes to its address, and what is freed is there for others.
//
//   allocated-again [N]    N: only allocates and frees that often
#include <pthread.h>
#include <unistd.h>

#include "tests/programs/driver.h"

enum { KIB = 1024, MIB = 1024 * 1024, LOOPS = 300, THREADS = 4, PIECES = 64 };

static struct gpu gpu;

static bool is_filled(CUdeviceptr memory, size_t size, unsigned char value)
{
    unsigned char *bytes = malloc(size);
    CHECK(cuMemcpyDtoH(bytes, memory, size));
    size_t same = 0;
    while (same < size && bytes[same] == value)
        same++;
    free(bytes);
    return same == size;
}

static size_t free_bytes(void)
{
    size_t unused, total;
    CHECK(cuMemGetInfo(&unused, &total));
    return unused;
}

static void loop(unsigned rounds, size_t size)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < rounds; i++) {
        CUdeviceptr memory = device_alloc(size);
        CHECK(cuMemsetD8Async(memory, (unsigned char)i, size, NULL));
        if (i % 16 == 0)
            wrong += !is_filled(memory, size, (unsigned char)i);
        CHECK(cuMemFree(memory));
    }
    is_int(wrong, 0, "%u allocations of %zu bytes, one after the other, hold what is written",
           rounds, size);
}

// ---- each is one of its own ----

static unsigned long long buffer_id(CUdeviceptr memory)
{
    unsigned long long id = 0;
    CHECK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory));
    return id;
}

static void identity(void)
{
    CUdeviceptr first = device_alloc(MIB), range;
    unsigned long long id = buffer_id(first);
    size_t size;
    int on = 1;
    CHECK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first));
    CHECK(cuMemFree(first));
    gives(cuMemGetAddressRange(&range, &size, first), CUDA_ERROR_NOT_FOUND,
          "freed memory is nobody's");
    gives(cuMemFree(first), CUDA_ERROR_INVALID_VALUE, "and cannot be freed twice");
    CUdeviceptr second = device_alloc(MIB);
    ok(buffer_id(second) != id, "the next allocation has another id");
    CHECK(cuPointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, second));
    is_int(on, 0, "and no attribute of the one before");
    CHECK(cuMemGetAddressRange(&range, &size, second));
    ok(range == second && size == MIB, "it has the size that was asked for");
    CHECK(cuMemFree(second));
}

static void sizes_do_not_mix(void)
{
    CUdeviceptr range;
    size_t size;
    unsigned wrong = 0;
    for (size_t want = 1; want < 200 * KIB; want = want * 3 / 2 + 7) {
        CUdeviceptr memory = device_alloc(want);
        CHECK(cuMemGetAddressRange(&range, &size, memory));
        wrong += range != memory || size != want;
        CHECK(cuMemFree(memory));
    }
    is_int(wrong, 0, "allocations of many sizes have the size that was asked for");
}

// ---- what is freed is there for others ----

static bool is_free_at_once(void)
{
    CUdeviceptr pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        pieces[i] = device_alloc(2 * MIB);
    size_t before = free_bytes();
    for (int i = 0; i < PIECES; i++)
        CHECK(cuMemFree(pieces[i]));
    return free_bytes() + 4 * MIB >= before + (size_t)PIECES * 2 * MIB;
}

// Another process of the GPU may allocate in between.
static void counted_as_free(void)
{
    int tries = 5;
    while (!is_free_at_once() && --tries)
        ;
    ok(tries, "what was freed counts as free at once");
}

static size_t largest(void)
{
    CUdeviceptr memory;
    size_t size = free_bytes() / (2 * MIB) * (2 * MIB);
    while (cuMemAlloc(&memory, size) == CUDA_ERROR_OUT_OF_MEMORY && size > 64 * MIB)
        size -= 64 * MIB;
    CHECK(cuMemFree(memory));
    return size;
}

static void there_for_others(void)
{
    CUdeviceptr pieces[PIECES];
    CUarray array;
    size_t before = largest();
    for (int i = 0; i < PIECES; i++)
        pieces[i] = device_alloc(MIB);
    for (int i = 0; i < PIECES; i++)
        CHECK(cuMemFree(pieces[i]));
    ok(largest() + (size_t)256 * MIB >= before,
       "what was freed can be part of a larger allocation");
    for (int i = 0; i < PIECES; i++)
        pieces[i] = device_alloc(MIB);
    CUdeviceptr rest = device_alloc(largest());
    for (int i = 0; i < PIECES; i++)
        CHECK(cuMemFree(pieces[i]));
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {
        .Width = 4096, .Height = 2048, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    gives(cuArray3DCreate_v2(&array, &descriptor), CUDA_SUCCESS,
          "or of an array, if nothing else is free");
    CHECK(cuArrayDestroy(array));
    CHECK(cuMemFree(rest));
}

// ---- page-locked memory ----

static void page_locked(void)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < LOOPS; i++) {
        static const unsigned flags[] = {0, CU_MEMHOSTALLOC_DEVICEMAP,
                                         CU_MEMHOSTALLOC_WRITECOMBINED};
        size_t size = (i % 5 + 1) * 100 * KIB;
        unsigned char *memory, byte;
        unsigned found = 99;
        CUdeviceptr device = device_alloc(size);
        CHECK(cuMemHostAlloc((void **)&memory, size, flags[i % 3]));
        memset(memory, (int)i, size);
        CHECK(cuMemcpyHtoDAsync(device, memory, size, NULL));
        CHECK(cuMemHostGetFlags(&found, memory));
        wrong += (found & flags[i % 3]) != flags[i % 3] ||
                 (found & CU_MEMHOSTALLOC_WRITECOMBINED) !=
                     (flags[i % 3] & CU_MEMHOSTALLOC_WRITECOMBINED);
        CHECK(cuMemFreeHost(memory));
        CHECK(cuMemcpyDtoH(&byte, device + size - 1, 1));
        wrong += byte != (unsigned char)i;
        CHECK(cuMemFree(device));
    }
    is_int(wrong, 0, "page-locked memory, too, has the flags of its own allocation");
    void *once;
    CHECK(cuMemAllocHost(&once, MIB));
    CHECK(cuMemFreeHost(once));
    gives(cuMemFreeHost(once), CUDA_ERROR_INVALID_VALUE, "and cannot be freed twice");
}

// ---- in the order of streams, and managed ----

static uint64_t used_by_pool(void)
{
    CUmemoryPool pool;
    cuuint64_t used = 0;
    CHECK(cuDeviceGetDefaultMemPool(&pool, gpu.device));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    return used;
}

static CUdeviceptr ordered_alloc(size_t size, CUstream stream)
{
    CUdeviceptr memory;
    CHECK(cuMemAllocAsync(&memory, size, stream));
    return memory;
}

static void ordered(void)
{
    CUstream streams[2];
    unsigned wrong = 0;
    unsigned char bytes[2] = {0};
    uint64_t before = used_by_pool();
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < LOOPS; i++) {
        CUdeviceptr memory[2];
        for (int k = 0; k < 2; k++) {
            memory[k] = ordered_alloc(MIB, streams[k]);
            CHECK(
                cuMemsetD8Async(memory[k], (unsigned char)(2 * i + (unsigned)k), MIB, streams[k]));
        }
        wrong += memory[0] == memory[1];
        for (int k = 0; k < 2; k++) {
            CHECK(cuMemcpyDtoHAsync(&bytes[k], memory[k] + MIB - 1, 1, streams[k]));
            CHECK(cuMemFreeAsync(memory[k], streams[k]));
        }
        for (int k = 0; k < 2; k++) {
            CHECK(cuStreamSynchronize(streams[k]));
            wrong += bytes[k] != (unsigned char)(2 * i + (unsigned)k);
        }
    }
    is_int(wrong, 0, "memory in the order of two streams is each one's own, again and again");
    CUdeviceptr memory = ordered_alloc(MIB, streams[0]);
    CHECK(cuMemFreeAsync(memory, streams[0]));
    gives(cuMemFreeAsync(memory, streams[0]), CUDA_ERROR_INVALID_VALUE, "and not freed twice");
    is_int(used_by_pool() - before, 0, "a pool does not count what was freed as used");
    memory = ordered_alloc(MIB, streams[1]);
    CHECK(cuMemFreeAsync(memory, streams[1]));
    CHECK(cuStreamDestroy(streams[1]));
    CHECK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    memory = ordered_alloc(MIB, streams[1]);
    CHECK(cuMemsetD8Async(memory, 9, MIB, streams[1]));
    CHECK(cuStreamSynchronize(streams[1]));
    ok(is_filled(memory, MIB, 9), "a stream that has ended takes nothing along");
    CHECK(cuMemFreeAsync(memory, streams[1]));
    CHECK(cuStreamSynchronize(streams[1]));
    for (int i = 0; i < 2; i++)
        CHECK(cuStreamDestroy(streams[i]));
    is_int(used_by_pool() - before, 0, "nor when the streams have ended");
}

// A capture records what its own program calls, and nothing that was freed before.
static void before_a_capture(void)
{
    CUstream stream;
    CUgraph graph;
    size_t nodes = 0;
    uint64_t before = used_by_pool();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr lasting = device_alloc(MIB), memory = ordered_alloc(MIB, stream);
    CHECK(cuMemFreeAsync(memory, stream));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemsetD8Async(lasting, 1, MIB, stream));
    usleep(150000); // longer than anything is kept
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, NULL, &nodes));
    is_int(nodes, 1, "a graph does not free what was freed before its capture");
    is_int(used_by_pool() - before, 0, "and what was freed is free");
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(lasting));
    CHECK(cuStreamDestroy(stream));
}

static void managed(size_t size)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < LOOPS / 4; i++) {
        CUdeviceptr memory;
        CHECK(cuMemAllocManaged(&memory, size, CU_MEM_ATTACH_GLOBAL));
        unsigned char *bytes = (unsigned char *)(uintptr_t)memory;
        if (i % 3) {
            bytes[0] = bytes[size - 1] = (unsigned char)i;
            CHECK(cuMemsetD8Async(memory, (unsigned char)(i + 1), size / 2, NULL));
            CHECK(cuCtxSynchronize());
            wrong += bytes[0] != (unsigned char)(i + 1) || bytes[size - 1] != (unsigned char)i;
        } else {
            CHECK(cuMemsetD8Async(memory, (unsigned char)i, size, NULL));
        }
        CHECK(cuMemFree(memory));
    }
    is_int(wrong, 0, "managed memory of %zu bytes holds what host and GPU write", size);
}

// ---- contexts ----

static void contexts(void)
{
    CUcontext other;
    CHECK(cuCtxCreate_v2(&other, 0, gpu.device));
    CUdeviceptr memory = device_alloc(MIB);
    CHECK(cuMemFree(memory));
    CHECK(cuCtxSetCurrent(gpu.context));
    memory = device_alloc(MIB);
    CUcontext owner;
    CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    ok(owner == gpu.context, "memory belongs to the context that it was allocated in");
    CHECK(cuCtxDestroy(other));
    CHECK(cuMemsetD8(memory, 5, MIB));
    ok(is_filled(memory, MIB, 5), "and lives on when another context ends");
    CHECK(cuMemFree(memory));
    CHECK(cuDevicePrimaryCtxReset(gpu.device));
    CHECK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    CHECK(cuCtxSetCurrent(gpu.context));
    memory = device_alloc(MIB);
    CHECK(cuMemsetD8(memory, 6, MIB));
    ok(is_filled(memory, MIB, 6),
       "after a reset of the context, too, what is allocated can be used");
    CHECK(cuMemFree(memory));
}

// Resets the context about when what was freed goes back, 50 ms later.
static void resets(void)
{
    int failed = 0;
    for (int i = 0; i < 24; i++) {
        CUdeviceptr memory;
        CHECK(cuMemAllocManaged(&memory, 3 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK(cuMemFree(memory));
        CHECK(cuMemFree(device_alloc(MIB)));
        usleep(49000 + (unsigned)i * 80);
        CHECK(cuDevicePrimaryCtxReset(gpu.device));
        failed += cuDevicePrimaryCtxRetain(&gpu.context, gpu.device) != CUDA_SUCCESS;
        CHECK(cuCtxSetCurrent(gpu.context));
        failed += cuMemAlloc(&memory, MIB) != CUDA_SUCCESS || cuMemFree(memory) != CUDA_SUCCESS;
    }
    is_int(failed, 0, "a reset ends what was kept, whenever it comes");
}

// ---- threads ----

struct job {
    pthread_t thread;
    unsigned seed, wrong;
    CUresult failure;
};

static void *allocate_and_free(void *argument)
{
    struct job *job = argument;
    unsigned char byte;
    JOB_TRY(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < LOOPS; i++) {
        CUdeviceptr memory[3];
        size_t size = 512u << rand_r(&job->seed) % 8;
        unsigned char value = (unsigned char)job->seed;
        for (int k = 0; k < 3; k++) {
            JOB_TRY(cuMemAlloc(&memory[k], size));
            JOB_TRY(
                cuMemsetD8Async(memory[k], (unsigned char)(value + k), size, CU_STREAM_PER_THREAD));
        }
        for (int k = 0; k < 3; k++) {
            JOB_TRY(cuMemcpyDtoHAsync(&byte, memory[k] + size - 1, 1, CU_STREAM_PER_THREAD));
            JOB_TRY(cuStreamSynchronize(CU_STREAM_PER_THREAD));
            job->wrong += byte != (unsigned char)(value + k);
        }
        for (int k = 0; k < 3; k++)
            JOB_TRY(cuMemFree(memory[k]));
    }
    return NULL;
}

static void threads(void)
{
    struct job jobs[THREADS];
    unsigned wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.seed = i + 1};
        pthread_create(&jobs[i].thread, NULL, allocate_and_free, &jobs[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        wrong += jobs[i].wrong + (jobs[i].failure != CUDA_SUCCESS);
    }
    is_int(wrong, 0, "threads that allocate and free do not get each other's memory");
}

int main(int argc, char **argv)
{
    gpu = open_gpu(0);
    if (argc == 2) {
        for (int i = atoi(argv[1]); i > 0; i--)
            CHECK(cuMemFree(device_alloc(64 * KIB)));
        return 0;
    }
    contexts();
    resets();
    loop(LOOPS, 4 * KIB);
    loop(LOOPS, MIB);
    identity();
    sizes_do_not_mix();
    counted_as_free();
    page_locked();
    ordered();
    before_a_capture();
    managed(64 * KIB);
    managed(3 * MIB);
    managed(40 * MIB);
    threads();
    there_for_others();
    return done();
}
