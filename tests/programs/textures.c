// SPDX-License-Identifier: BSD-3-Clause
// Texture and surface objects as programs use them: as arguments, inside structures, in lists in
// memory of the device; over arrays, levels, layers and linear memory; written as surfaces and read
// as textures, in the order of streams.
#include "tests/programs/driver.h"
#include "tests/programs/texture_calls.h"

__asm__(".pushsection .rodata\n"
        "images_ptx: .incbin \"tests/programs/images.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char images_ptx[] __attribute__((visibility("hidden")));

#define WIDTH 16u
#define HEIGHT 8u
#define READS 64u

static CUmodule images;
static CUdeviceptr places, results; // READS of each

static CUfunction image_kernel(const char *name)
{
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, images, name));
    return function;
}

static CUarray make_array(unsigned width, unsigned height, unsigned depth, unsigned flags)
{
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = width,
                                 .Height = height,
                                 .Depth = depth,
                                 .Format = CU_AD_FORMAT_FLOAT,
                                 .NumChannels = 1,
                                 .Flags = flags};
    CHECK(cuArray3DCreate(&array, &d));
    return array;
}

static float texel(unsigned x, unsigned y, float base)
{
    return base + (float)x + 100.0f * (float)y;
}

static void put(CUarray array, unsigned width, unsigned height, unsigned depth, float base)
{
    static float texels[WIDTH * HEIGHT * 4];
    for (unsigned i = 0; i < width * height * depth; i++)
        texels[i] =
            texel(i % width, i / width % height, base + 10000.0f * (float)(i / width / height));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = texels,
                          .srcPitch = width * 4,
                          .srcHeight = height,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = width * 4,
                          .Height = height,
                          .Depth = depth};
    CHECK(cuMemcpy3D(&copy));
}

static CUDA_RESOURCE_DESC of_array(CUarray array)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    r.res.array.hArray = array;
    return r;
}

static CUtexObject make_texture(const CUDA_RESOURCE_DESC *resource, CUfilter_mode filter)
{
    CUtexObject texture = 0;
    CUDA_TEXTURE_DESC t = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                           CU_TR_ADDRESS_MODE_CLAMP},
                           .filterMode = filter,
                           .maxMipmapLevelClamp = 10};
    CHECK(cuTexObjectCreate(&texture, resource, &t, NULL));
    return texture;
}

// Texel centres, which every filter reads as they are.
static void ask_for_centres(void)
{
    float at[READS][2];
    for (unsigned i = 0; i < READS; i++) {
        at[i][0] = (float)(i * 5 % WIDTH) + 0.5f;
        at[i][1] = (float)(i * 3 % HEIGHT) + 0.5f;
    }
    CHECK(cuMemcpyHtoD(places, at, sizeof at));
}

static unsigned wrong_reads(const float *bases, unsigned count, float factor)
{
    float got[READS];
    unsigned wrong = 0;
    CHECK(cuMemcpyDtoH(got, results, sizeof got));
    for (unsigned i = 0; i < READS; i++)
        wrong += got[i] != factor * texel(i * 5 % WIDTH, i * 3 % HEIGHT, bases[i % count]);
    return wrong;
}

static void objects_in_memory(void)
{
    static const float bases[] = {0, 20000, -300, 7};
    unsigned n = READS, count = 4, two = 2;
    CUarray arrays[4];
    CUtexObject textures[4];
    CUdeviceptr list, where;
    struct {
        float factor;
        CUtexObject texture;
    } scaled = {.factor = 3};
    ask_for_centres();
    for (unsigned i = 0; i < 4; i++) {
        arrays[i] = make_array(WIDTH, HEIGHT, 0, 0);
        put(arrays[i], WIDTH, HEIGHT, 1, bases[i]);
        CUDA_RESOURCE_DESC r = of_array(arrays[i]);
        textures[i] = make_texture(&r, i & 1 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT);
    }
    launch(image_kernel("read_2d"), 1, READS, NULL, &textures[1], &places, &results, &n);
    is_int(wrong_reads(&bases[1], 1, 1), 0, "an object that is an argument");
    scaled.texture = textures[2];
    launch(image_kernel("read_scaled"), 1, READS, NULL, &scaled, &places, &results, &n);
    is_int(wrong_reads(&bases[2], 1, 3), 0, "an object inside a structure");
    list = device_alloc(sizeof textures);
    CHECK(cuMemcpyHtoD(list, textures, sizeof textures));
    launch(image_kernel("read_listed"), 1, READS, NULL, &list, &count, &places, &results, &n);
    is_int(wrong_reads(bases, 4, 1), 0, "a list of objects in memory, another one for each thread");
    CHECK(cuModuleGetGlobal(&where, NULL, images, "constant_list"));
    CHECK(cuMemcpyHtoD(where, textures, sizeof textures));
    launch(image_kernel("read_constant"), 1, READS, NULL, &count, &places, &results, &n);
    is_int(wrong_reads(bases, 4, 1), 0, "a list in constant memory");
    CHECK(cuModuleGetGlobal(&where, NULL, images, "variable_list"));
    CHECK(cuMemcpyHtoD(where, textures, sizeof textures));
    launch(image_kernel("read_variable"), 1, READS, NULL, &two, &places, &results, &n);
    is_int(wrong_reads(bases, 2, 1), 0, "a list in a variable");
    for (unsigned i = 0; i < 4; i++) {
        CHECK(cuTexObjectDestroy(textures[i]));
        CHECK(cuArrayDestroy(arrays[i]));
    }
    CHECK(cuMemFree(list));
}

static void halfway_between_texels(void)
{
    static const float at[4][2] = {{1.0f, 0.5f}, {0.5f, 1.0f}, {1.0f, 1.0f}, {2.25f, 0.5f}};
    static const float want[4] = {0.5f, 50.0f, 50.5f, 1.75f};
    unsigned n = 4;
    float got[4];
    CUarray array = make_array(WIDTH, HEIGHT, 0, 0);
    CUDA_RESOURCE_DESC r = of_array(array);
    CUtexObject texture = make_texture(&r, CU_TR_FILTER_MODE_LINEAR);
    put(array, WIDTH, HEIGHT, 1, 0);
    CHECK(cuMemcpyHtoD(places, at, sizeof at));
    launch(image_kernel("read_2d"), 1, 4, NULL, &texture, &places, &results, &n);
    CHECK(cuMemcpyDtoH(got, results, sizeof got));
    is_mem(got, want, sizeof got, "texels are mixed by their distance");
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuArrayDestroy(array));
}

// Checks that a kernel's surface writes are visible to the next kernel's texture reads and to
// copies.
static void surfaces(void)
{
    unsigned width = WIDTH, height = HEIGHT, wrong = 0;
    float value = 7, got[WIDTH * HEIGHT];
    CUarray array = make_array(WIDTH, HEIGHT, 0, CUDA_ARRAY3D_SURFACE_LDST);
    CUarray smoothed = make_array(WIDTH, HEIGHT, 0, CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_RESOURCE_DESC r = of_array(array), s = of_array(smoothed);
    CUtexObject texture = make_texture(&r, CU_TR_FILTER_MODE_LINEAR);
    CUsurfObject surface, target;
    CHECK(cuSurfObjectCreate(&surface, &r));
    CHECK(cuSurfObjectCreate(&target, &s));
    CHECK(cuLaunchKernel(image_kernel("fill_surface"), 1, HEIGHT, 1, WIDTH, 1, 1, 0, NULL,
                         (void *[]){&surface, &width, &height, &value}, NULL));
    CHECK(cuLaunchKernel(image_kernel("smooth"), 1, 1, 1, WIDTH, HEIGHT, 1, 0, NULL,
                         (void *[]){&texture, &target, &width, &height}, NULL));
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                         .srcArray = smoothed,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = got,
                         .dstPitch = WIDTH * 4,
                         .WidthInBytes = WIDTH * 4,
                         .Height = HEIGHT};
    CHECK(cuMemcpy2D(&out));
    for (unsigned y = 1; y + 1 < HEIGHT; y++)
        for (unsigned x = 1; x + 1 < WIDTH; x++)
            wrong += got[y * WIDTH + x] != 7 + (float)x + 1000.0f * (float)y;
    is_int(wrong, 0, "a surface is written, read as a texture, and smoothed into another");
    is_int(cuSurfObjectDestroy(surface), CUDA_SUCCESS, "a surface object is destroyed");
    CHECK(cuSurfObjectDestroy(target));
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuArrayDestroy(array));
    CHECK(cuArrayDestroy(smoothed));
}

static void linear_memory(void)
{
    enum { COUNT = 1000 };
    static float texels[COUNT], got[COUNT];
    unsigned n = COUNT;
    CUdeviceptr memory = device_alloc(sizeof texels), out = device_alloc(sizeof texels);
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR}, back;
    for (unsigned i = 0; i < COUNT; i++)
        texels[i] = (float)i * 0.37f;
    CHECK(cuMemcpyHtoD(memory, texels, sizeof texels));
    r.res.linear.devPtr = memory;
    r.res.linear.format = CU_AD_FORMAT_FLOAT;
    r.res.linear.numChannels = 1;
    r.res.linear.sizeInBytes = sizeof texels;
    CUtexObject texture = make_texture(&r, CU_TR_FILTER_MODE_POINT);
    launch(image_kernel("fetch"), 4, 256, NULL, &texture, &out, &n);
    CHECK(cuMemcpyDtoH(got, out, sizeof got));
    is_mem(got, texels, sizeof got, "linear memory is fetched by index");
    CHECK(cuTexObjectGetResourceDesc(&back, texture));
    ok(back.resType == CU_RESOURCE_TYPE_LINEAR && back.res.linear.devPtr == memory &&
           back.res.linear.sizeInBytes == sizeof texels,
       "and the object says which memory it is");
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuMemFree(memory));
    CHECK(cuMemFree(out));
}

static void levels_and_layers(void)
{
    float got[4];
    float first = 0;
    CUmipmappedArray mipmap;
    CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = 16, .Height = 8, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY}, back;
    CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_NORMALIZED_COORDINATES, .maxMipmapLevelClamp = 10};
    CUtexObject texture;
    CHECK(cuMipmappedArrayCreate(&mipmap, &d, 4));
    for (unsigned level = 0; level < 4; level++) {
        CUarray array;
        CHECK(cuMipmappedArrayGetLevel(&array, mipmap, level));
        put(array, 16 >> level, 8 >> level, 1, (float)(level + 1) * 1000000.0f);
    }
    r.res.mipmap.hMipmappedArray = mipmap;
    CHECK(cuTexObjectCreate(&texture, &r, &t, NULL));
    CHECK(cuLaunchKernel(image_kernel("read_level"), 1, 1, 1, 4, 1, 1, 0, NULL,
                         (void *[]){&texture, &first, &results}, NULL));
    CHECK(cuMemcpyDtoH(got, results, sizeof got));
    ok(got[0] == 1000408 && got[1] == 2000204 && got[2] == 3000102 && got[3] == 4000001,
       "levels are read: %g %g %g %g", (double)got[0], (double)got[1], (double)got[2],
       (double)got[3]);
    CHECK(cuTexObjectGetResourceDesc(&back, texture));
    ok(back.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
           back.res.mipmap.hMipmappedArray == mipmap,
       "the object says which mipmapped array it is");
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuMipmappedArrayDestroy(mipmap));
    CUarray layered = make_array(4, 4, 4, CUDA_ARRAY3D_LAYERED);
    put(layered, 4, 4, 4, 1);
    r = of_array(layered);
    texture = make_texture(&r, CU_TR_FILTER_MODE_POINT);
    CHECK(cuLaunchKernel(image_kernel("read_layer"), 1, 1, 1, 4, 1, 1, 0, NULL,
                         (void *[]){&texture, &results}, NULL));
    CHECK(cuMemcpyDtoH(got, results, sizeof got));
    ok(got[0] == 1 && got[1] == 10001 && got[2] == 20001 && got[3] == 30001, "layers are read");
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuArrayDestroy(layered));
}

static void descriptors(void)
{
    CUarray array = make_array(WIDTH, HEIGHT, 0, CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_RESOURCE_DESC r = of_array(array), back;
    CUDA_TEXTURE_DESC t = {.addressMode = {CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER},
                           .filterMode = CU_TR_FILTER_MODE_LINEAR,
                           .flags = CU_TRSF_NORMALIZED_COORDINATES,
                           .borderColor = {1, 2, 3, 4}},
                      got;
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                    .width = WIDTH,
                                    .height = HEIGHT},
                            seen;
    CUtexObject texture, viewed;
    CUsurfObject surface;
    CHECK(cuTexObjectCreate(&texture, &r, &t, NULL));
    CHECK(cuTexObjectCreate(&viewed, &r, &t, &view));
    CHECK(cuSurfObjectCreate(&surface, &r));
    CHECK(cuTexObjectGetResourceDesc(&back, texture));
    ok(back.resType == CU_RESOURCE_TYPE_ARRAY && back.res.array.hArray == array,
       "a texture object says which array it is");
    CHECK(cuSurfObjectGetResourceDesc(&back, surface));
    ok(back.resType == CU_RESOURCE_TYPE_ARRAY && back.res.array.hArray == array,
       "and a surface object");
    CHECK(cuTexObjectGetTextureDesc(&got, texture));
    ok(got.addressMode[0] == t.addressMode[0] && got.addressMode[1] == t.addressMode[1] &&
           got.filterMode == t.filterMode && got.flags == t.flags,
       "how it is sampled");
    CHECK(cuTexObjectGetResourceViewDesc(&seen, viewed));
    ok(seen.format == view.format && seen.width == view.width && seen.height == view.height,
       "and what its view is");
    CHECK(cuTexObjectDestroy(texture));
    CHECK(cuTexObjectDestroy(viewed));
    CHECK(cuSurfObjectDestroy(surface));
    CHECK(cuArrayDestroy(array));
}

static void mistakes(void)
{
    CUarray plain = make_array(WIDTH, HEIGHT, 0, 0);
    CUDA_RESOURCE_DESC r = of_array(plain), none = {.resType = (CUresourcetype)9};
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUtexObject texture = 0;
    gives(cuTexObjectCreate(&texture, &none, &t, NULL), CUDA_ERROR_INVALID_VALUE,
          "no texture of an unknown kind of resource");
    gives(cuTexObjectCreate(NULL, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE, "nor to nowhere");
    gives(cuTexObjectCreate(&texture, NULL, &t, NULL), CUDA_ERROR_INVALID_VALUE, "nor of nothing");
    t.addressMode[0] = (CUaddress_mode)7;
    ok(cuTexObjectCreate(&texture, &r, &t, NULL) == CUDA_ERROR_INVALID_VALUE && !texture,
       "nor with an unknown address mode");
    CHECK(cuArrayDestroy(plain));
}

static void many(void)
{
    enum { MANY = 2000 };
    static CUtexObject textures[MANY];
    unsigned n = READS;
    static const float base = 5;
    CUarray array = make_array(WIDTH, HEIGHT, 0, 0);
    CUDA_RESOURCE_DESC r = of_array(array);
    put(array, WIDTH, HEIGHT, 1, base);
    ask_for_centres();
    for (unsigned i = 0; i < MANY; i++)
        textures[i] = make_texture(&r, CU_TR_FILTER_MODE_POINT);
    launch(image_kernel("read_2d"), 1, READS, NULL, &textures[MANY - 1], &places, &results, &n);
    is_int(wrong_reads(&base, 1, 1), 0, "the last of %d objects on one array", MANY);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(cuTexObjectDestroy(textures[i]));
    CHECK(cuArrayDestroy(array));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CHECK(cuModuleLoadData(&images, images_ptx));
    places = device_alloc(READS * 8);
    results = device_alloc(READS * 4);
    objects_in_memory();
    halfway_between_texels();
    surfaces();
    linear_memory();
    levels_and_layers();
    descriptors();
    mistakes();
    many();
    close_gpu(&gpu);
    return done();
}
