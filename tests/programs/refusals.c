// SPDX-License-Identifier: BSD-3-Clause
// Invalid queries, and arguments at the edge of the memory that a call may read: the call itself
// returns the driver's error, and reads no byte beyond its arguments.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/programs/driver.h"

static void pointers(void)
{
    CUdeviceptr block = device_alloc(4096);
    uint64_t answer = 0;
    gives(cuPointerGetAttribute(&answer, (CUpointer_attribute)9999, block),
          CUDA_ERROR_INVALID_VALUE, "a pointer has no attribute 9999");
    gives(cuPointerGetAttribute(&answer, (CUpointer_attribute)0, block), CUDA_ERROR_INVALID_VALUE,
          "nor attribute 0");
    gives(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block),
          CUDA_ERROR_INVALID_VALUE, "an attribute needs room");
    unsigned int type = 0;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUpointer_attribute)9999};
    void *answers[] = {&type, &answer};
    gives(cuPointerGetAttributes(2, asked, answers, block), CUDA_ERROR_INVALID_VALUE,
          "an attribute 9999 among others is none, either");
    gives(cuPointerGetAttributes(2, asked, answers, (CUdeviceptr)(uintptr_t)&type),
          CUDA_ERROR_INVALID_VALUE, "of an address that is not CUDA's");
    asked[1] = CU_POINTER_ATTRIBUTE_HOST_POINTER;
    answer = 1;
    gives(cuPointerGetAttributes(2, asked, answers, block), CUDA_SUCCESS,
          "an attribute that the pointer has not is no error among others");
    ok(type == CU_MEMORYTYPE_DEVICE && !answer, "but zero");
    CHECK(cuMemFree(block));
}

static void peers(void)
{
    int count = 0, value = 0;
    CHECK(cuDeviceGetCount(&count));
    gives(cuDeviceGetP2PAttribute(NULL, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, count > 1),
          CUDA_ERROR_INVALID_VALUE, "an attribute of two devices needs room");
    if (count < 2)
        skip(1, "there is one device");
    else
        gives(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)99, 0, 1),
              CUDA_ERROR_INVALID_VALUE, "two devices have no attribute 99");
}

// Checks that each attribute agrees with the call that it describes.
static void promises(const struct gpu *gpu)
{
    static const struct {
        CUdevice_attribute attribute;
        CUmemLocationType location;
        const char *name;
    } pools[] = {
        {CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, CU_MEM_LOCATION_TYPE_HOST, "host"},
        {CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, CU_MEM_LOCATION_TYPE_HOST_NUMA,
         "NUMA"},
    };
    for (unsigned i = 0; i < 2; i++) {
        CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {pools[i].location, 0}};
        CUmemoryPool pool;
        if (!device_attribute(gpu->device, pools[i].attribute)) {
            skip(1, "no pools in %s memory", pools[i].name);
            continue;
        }
        CUresult result = cuMemPoolCreate(&pool, &properties);
        gives(result, CUDA_SUCCESS, "pools in %s memory are promised and made", pools[i].name);
        if (result == CUDA_SUCCESS)
            CHECK(cuMemPoolDestroy(pool));
    }
    void *memory = NULL;
    CUdeviceptr address = 0;
    bool mapped = cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP) == CUDA_SUCCESS &&
                  cuMemHostGetDevicePointer(&address, memory, 0) == CUDA_SUCCESS;
    is_int(device_attribute(gpu->device, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY), mapped,
           "mapped host memory is promised where it is given");
    if (memory)
        CHECK(cuMemFreeHost(memory));
}

// An array of which not one byte more may be read.
static cuuint64_t *last_of_page(unsigned count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
        bail("no page");
    return (cuuint64_t *)(void *)(pages + page) - count;
}

static void tensors(void)
{
    cuuint64_t sizes[2] = {64, 64}, *strides = last_of_page(1);
    cuuint32_t box[2] = {16, 16}, steps[2] = {1, 1};
    CUtensorMap map;
    CUdeviceptr data = device_alloc(64 * 64 * 4);
    strides[0] = 64 * 4;
    CUresult result =
        cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)data, sizes,
                               strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    ok(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_SUPPORTED,
       "a tensor of two dimensions has one stride");
    CHECK(cuMemFree(data));
}

// A grid of four blocks is no multiple of clusters of three, and there are no clusters of 4096.
static void clusters(const struct gpu *gpu)
{
    static const unsigned sizes[] = {3, 4096};
    CUfunction empty = kernel(gpu, "empty");
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {.gridDimX = 4,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    for (unsigned i = 0; i < 2; i++) {
        attribute.value.clusterDim.x = sizes[i];
        attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
        config.gridDimX = i ? 4096 : 4;
        CUresult result = cuLaunchKernelEx(&config, empty, NULL, NULL);
        ok(result != CUDA_SUCCESS, "clusters of %u are refused by the launch itself (%s)", sizes[i],
           result_name(result));
        gives(cuCtxSynchronize(), CUDA_SUCCESS, "and nothing later fails for it");
    }
    attribute.value.clusterDim.x = 1;
    for (unsigned i = 0; i < 3; i++)
        CHECK(cuLaunchKernelEx(&config, empty, NULL, NULL));
    gives(cuCtxSynchronize(), CUDA_SUCCESS, "launches with a right attribute run");
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    pointers();
    peers();
    promises(&gpu);
    tensors();
    clusters(&gpu);
    close_gpu(&gpu);
    return done();
}
