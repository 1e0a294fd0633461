// SPDX-License-Identifier: BSD-3-Clause
// A program in the middle of its work with arrays and managed memory. It has a mipmapped array of
// 256 MiB that kernels read as a texture and write as a surface, copies between the array and
// pageable memory, and 64 MiB of managed memory that the program and kernels write by turns. It
// says so, and goes on until a call fails.
#include <string.h>

#include "tests/programs/array_calls.h"
#include "tests/programs/texture_calls.h"

__asm__(".pushsection .rodata\n"
        "images_ptx: .incbin \"tests/programs/images.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char images_ptx[] __attribute__((visibility("hidden")));

enum { WIDTH = 4096, HEIGHT = 12 * 1024, ROWS = 64, READS = 64 };

static struct gpu gpu;
static CUarray level;
static CUtexObject texture;
static CUsurfObject surface;
static CUdeviceptr places, results, managed;
static CUfunction read_texture, fill_surface;
static unsigned char *rows;

static void make_images(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {WIDTH, HEIGHT,
                                 0,     CU_AD_FORMAT_FLOAT,
                                 1,     CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_TEXTURE_DESC sampler = {.filterMode = CU_TR_FILTER_MODE_LINEAR, .maxMipmapLevelClamp = 9};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUmipmappedArray mipmap;
    CHECK(cuMipmappedArrayCreate(&mipmap, &d, 4));
    CHECK(cuMipmappedArrayGetLevel(&level, mipmap, 0));
    resource.res.array.hArray = level;
    CHECK(cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    CHECK(cuSurfObjectCreate(&surface, &resource));
}

static CUresult copy_rows(bool to)
{
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = rows,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = level,
                        .WidthInBytes = WIDTH * 4,
                        .Height = ROWS};
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                         .srcArray = level,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = rows,
                         .WidthInBytes = WIDTH * 4,
                         .Height = ROWS};
    return cuMemcpy2D(to ? &in : &out);
}

// Reads the texture, writes the surface and the managed memory.
static CUresult run_kernels(unsigned round)
{
    unsigned n = READS, width = 64, height = 4, count = 1024;
    float value = (float)round;
    void *reading[] = {&texture, &places, &results, &n};
    void *writing[] = {&surface, &width, &height, &value};
    void *adding[] = {&managed, &round, &count};
    CUresult result = cuLaunchKernel(read_texture, 1, 1, 1, READS, 1, 1, 0, NULL, reading, NULL);
    if (result == CUDA_SUCCESS)
        result = cuLaunchKernel(fill_surface, 1, height, 1, 64, 1, 1, 0, NULL, writing, NULL);
    if (result == CUDA_SUCCESS)
        result = cuLaunchKernel(kernel(&gpu, "add"), 4, 1, 1, 64, 1, 1, 0, NULL, adding, NULL);
    return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

static CUresult go_round(unsigned round)
{
    CUresult result = copy_rows(round & 1);
    if (result == CUDA_SUCCESS)
        result = run_kernels(round);
    // If the session has ended meanwhile, the program ends here, as memory access would end it.
    if (result == CUDA_SUCCESS)
        ((unsigned *)(uintptr_t)managed)[round % 1024]++;
    return result;
}

int main(void)
{
    CUmodule images;
    CUresult result = CUDA_SUCCESS;
    gpu = open_gpu(0);
    CHECK(cuModuleLoadData(&images, images_ptx));
    CHECK(cuModuleGetFunction(&read_texture, images, "read_2d"));
    CHECK(cuModuleGetFunction(&fill_surface, images, "fill_surface"));
    make_images();
    CHECK(cuMemAllocManaged(&managed, (size_t)64 << 20, CU_MEM_ATTACH_GLOBAL));
    places = device_alloc(READS * 2 * sizeof(float));
    results = device_alloc(READS * sizeof(float));
    CHECK(cuMemsetD8(places, 0, READS * 2 * sizeof(float)));
    rows = calloc(ROWS, WIDTH * 4);
    for (unsigned round = 0; result == CUDA_SUCCESS; round++) {
        if (round == 10) {
            puts("running");
            fflush(stdout);
        }
        result = go_round(round);
    }
    printf("ended with %d\n", (int)result);
    return 3;
}
