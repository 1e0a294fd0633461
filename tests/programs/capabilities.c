// SPDX-License-Identifier: BSD-3-Clause
// Queries by which a program adapts to a device: tensor maps, atomic operations on other devices'
// memory, widths.
#include "tests/programs/driver.h"

static CUresult tiled(CUtensorMap *map, CUdeviceptr data)
{
    cuuint64_t sizes[3] = {64, 64, 8}, strides[2] = {64 * 4, 64 * 64 * 4};
    cuuint32_t box[3] = {16, 16, 2}, steps[3] = {1, 1, 1};
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)data, sizes,
                                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static CUresult columns(CUtensorMap *map, CUdeviceptr data, int corner)
{
    cuuint64_t sizes[4] = {64, 32, 32, 2}, strides[3] = {64 * 4, 64 * 32 * 4, 64 * 32 * 32 * 4};
    cuuint32_t steps[4] = {1, 1, 1, 1};
    int lower[2] = {corner, -1}, upper[2] = {1, 1};
    return cuTensorMapEncodeIm2col(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, (void *)data, sizes,
                                   strides, lower, upper, 32, 64, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static CUresult wide(CUtensorMap *map, CUdeviceptr data)
{
    cuuint64_t sizes[3] = {64, 32, 2}, strides[2] = {64 * 4, 64 * 32 * 4};
    cuuint32_t steps[3] = {1, 1, 1};
    return cuTensorMapEncodeIm2colWide(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)data, sizes,
                                       strides, -1, 1, 32, 64, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                       CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_128B,
                                       CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static void tensor_maps(const struct gpu *gpu)
{
    CUdeviceptr one = device_alloc(1 << 20), other = device_alloc(1 << 20);
    CUtensorMap map, replaced;
    if (device_attribute(gpu->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 9) {
        skip(6, "the device has no tensor maps");
        return;
    }
    gives(tiled(&map, one), CUDA_SUCCESS, "a tensor is described by tiles");
    CHECK(tiled(&replaced, other));
    ok(memcmp(&map, &replaced, sizeof map) != 0, "another one is described differently");
    gives(cuTensorMapReplaceAddress(&replaced, (void *)one), CUDA_SUCCESS,
          "its address is replaced");
    ok(!memcmp(&map, &replaced, sizeof map), "which makes them the same");
    gives(columns(&map, one, -1), CUDA_SUCCESS, "a tensor is described by columns of images");
    gives(columns(&map, one, 1000), CUDA_ERROR_INVALID_VALUE, "of which corners have bounds");
    CUresult result = wide(&map, one);
    ok(result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_SUPPORTED ||
           result == CUDA_ERROR_INVALID_VALUE,
       "wide columns are taken where the GPU has them (%s)", result_name(result));
    CHECK(cuMemFree(one));
    CHECK(cuMemFree(other));
}

static void atomics(const struct gpu *gpu)
{
    CUatomicOperation operations[3] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS,
                                       CU_ATOMIC_OPERATION_FLOAT_ADD};
    unsigned here[3] = {~0u, ~0u, ~0u};
    int count = 0, version = 0;
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDriverGetVersion(&version));
    if (version < 13000) {
        skip(4, "the driver is older than CUDA 13.0");
        return;
    }
    gives(cuDeviceGetHostAtomicCapabilities(here, operations, 3, gpu->device), CUDA_SUCCESS,
          "a GPU tells what it can do on memory of its host");
    ok(here[0] != ~0u && here[1] != ~0u && here[2] != ~0u, "of each operation");
    printf("# atomics %x %x %x\n", here[0], here[1], here[2]);
    gives(cuDeviceGetHostAtomicCapabilities(NULL, operations, 3, gpu->device),
          CUDA_ERROR_INVALID_VALUE, "and needs room for it");
    if (count < 2)
        skip(1, "there is one device");
    else
        gives(cuDeviceGetP2PAtomicCapabilities(here, operations, 3, 0, 1), CUDA_SUCCESS,
              "and so it does of another GPU's");
}

static void widths(const struct gpu *gpu)
{
    size_t width = 0;
    gives(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 1, gpu->device),
          CUDA_SUCCESS, "the width of a linear texture is told");
    ok(width >= 1 << 16, "which is %zu", width);
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    tensor_maps(&gpu);
    atomics(&gpu);
    widths(&gpu);
    close_gpu(&gpu);
    return done();
}
