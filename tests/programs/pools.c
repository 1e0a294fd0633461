// SPDX-License-Identifier: BSD-3-Clause
// Allocation in stream order: cuMemAllocAsync, the default pool and pools of the program's own.
#include "tests/programs/driver.h"

#define N 10000u

static void in_order(const struct gpu *gpu, CUstream stream)
{
    CUfunction add = kernel(gpu, "add");
    uint32_t *got = must_alloc(N * 4);
    unsigned wrong = 0, n = N;
    for (unsigned round = 1; round <= 20; round++) {
        CUdeviceptr data;
        CHECK(cuMemAllocAsync(&data, N * 4, stream));
        CHECK(cuMemsetD32Async(data, round, N, stream));
        launch(add, 4, 128, stream, &data, &round, &n);
        CHECK(cuMemcpyDtoHAsync(got, data, N * 4, stream));
        CHECK(cuMemFreeAsync(data, stream));
        CHECK(cuStreamSynchronize(stream));
        wrong += got[0] != 2 * round || got[N - 1] != 2 * round;
    }
    is_int(wrong, 0, "memory allocated, used and freed in stream order");
    CUdeviceptr data;
    CHECK(cuMemAllocAsync(&data, N * 4, stream));
    CHECK(cuStreamSynchronize(stream));
    gives(cuMemFree(data), CUDA_SUCCESS, "cuMemFree takes it too");
    free(got);
}

static void own_pool(const struct gpu *gpu, CUstream stream)
{
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu->device}};
    CUmemoryPool pool;
    CUdeviceptr data;
    cuuint64_t keep = 64 << 20, used = 99, got = 0;
    CHECK(cuMemPoolCreate(&pool, &properties));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &got));
    ok(got == keep, "a pool keeps its release threshold");
    CHECK(cuMemAllocFromPoolAsync(&data, 1 << 20, pool, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    ok(used >= 1 << 20, "and counts what is in use");
    CHECK(cuMemsetD8(data, 0x42, 1 << 20));
    unsigned char last = 0;
    CHECK(cuMemcpyDtoH(&last, data + (1 << 20) - 1, 1));
    is_int(last, 0x42, "its memory is memory");
    CHECK(cuMemFreeAsync(data, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    is_int(used, 0, "nothing is in use after the free");
    gives(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS, "it can be trimmed");
    gives(cuMemPoolDestroy(pool), CUDA_SUCCESS, "and destroyed");
}

// A device that cannot use managed memory while the host does has no pools of it.
static void of_managed_memory(const struct gpu *gpu)
{
    CUmemoryPool pool;
    CUmemPoolProps wanted = {.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
                             .location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu->device}};
    if (device_attribute(gpu->device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) {
        skip(1, "pools of managed memory: the device has concurrent access");
        return;
    }
    gives(cuMemPoolCreate(&pool, &wanted), CUDA_ERROR_NOT_SUPPORTED,
          "there is no pool of managed memory");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    if (!device_attribute(gpu.device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        skip_all("the device says that it has no memory pools");
    CUstream stream;
    CUmemoryPool pool = NULL;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gives(cuDeviceGetDefaultMemPool(&pool, gpu.device), CUDA_SUCCESS, "there is a default pool");
    ok(pool != NULL, "with a handle");
    in_order(&gpu, stream);
    in_order(&gpu, NULL);
    own_pool(&gpu, stream);
    of_managed_memory(&gpu);
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
