// SPDX-License-Identifier: BSD-3-Clause
// Sections of the recorder: accepted and refused descriptors, and the attributes of objects.
#include "tests/textures/sampling.h"

#define LINEAR CU_TR_FILTER_MODE_LINEAR
#define POINT CU_TR_FILTER_MODE_POINT
#define CLAMP CU_TR_ADDRESS_MODE_CLAMP
#define WRAP CU_TR_ADDRESS_MODE_WRAP

static void attempt(const char *name, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *t,
                    const CUDA_RESOURCE_VIEW_DESC *v)
{
    CUtexObject object = 0;
    CUresult result = cuTexObjectCreate(&object, r, t, v);

    result_line(name, result);
    if (!result)
        cuTexObjectDestroy(object);
}

static void samplers(void)
{
    struct image image;
    CUDA_TEXTURE_DESC plain = sampler(CLAMP, POINT, 0), t;

    if (!image_make("samplers", &image, "f32x1", 8, 8, 0, 0))
        return;
    CUDA_RESOURCE_DESC r = image_resource(&image), bad;
    attempt("sampler plain", &r, &plain, NULL);
    for (unsigned bit = 0; bit < 32; bit++) {
        t = plain;
        t.flags = 1u << bit;
        attempt(label("sampler flag %u", bit), &r, &t, NULL);
    }
    for (int mode = -1; mode < 6; mode++)
        for (unsigned k = 0; k < 3; k++) {
            t = plain;
            t.addressMode[k] = (CUaddress_mode)mode;
            attempt(label("sampler mode %d of %u", mode, k), &r, &t, NULL);
        }
    for (int mode = -1; mode < 4; mode++) {
        t = plain;
        t.filterMode = (CUfilter_mode)mode;
        attempt(label("sampler filter %d", mode), &r, &t, NULL);
        t = plain;
        t.mipmapFilterMode = (CUfilter_mode)mode;
        attempt(label("sampler mip filter %d", mode), &r, &t, NULL);
    }
    static const unsigned anisotropies[] = {0, 1, 2, 3, 16, 17, 100, 0xffffffffu};
    for (size_t i = 0; i < COUNT(anisotropies); i++) {
        t = plain;
        t.maxAnisotropy = anisotropies[i];
        attempt(label("sampler anisotropy %u", anisotropies[i]), &r, &t, NULL);
    }
    static const float numbers[] = {-1, 0, 1, 100, 1e30f, NAN, INFINITY};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        t = plain;
        t.mipmapLevelBias = numbers[i];
        attempt(label("sampler bias %g", (double)numbers[i]), &r, &t, NULL);
        t = plain;
        t.minMipmapLevelClamp = numbers[i];
        attempt(label("sampler least %g", (double)numbers[i]), &r, &t, NULL);
        t = plain;
        t.maxMipmapLevelClamp = numbers[i];
        attempt(label("sampler most %g", (double)numbers[i]), &r, &t, NULL);
        t = plain;
        t.borderColor[1] = numbers[i];
        attempt(label("sampler border %g", (double)numbers[i]), &r, &t, NULL);
    }
    t = plain;
    t.reserved[3] = 1;
    attempt("sampler reserved", &r, &t, NULL);
    attempt("no resource", NULL, &plain, NULL);
    attempt("no sampler", &r, NULL, NULL);
    result_line("no place", cuTexObjectCreate(NULL, &r, &plain, NULL));
    for (int type = -1; type < 6; type++) {
        bad = r;
        bad.resType = (CUresourcetype)type;
        if (type != 1)
            attempt(label("resource type %d", type), &bad, &plain, NULL);
    }
    bad = r;
    bad.flags = 1;
    attempt("resource flags", &bad, &plain, NULL);
    bad = r;
    bad.res.array.hArray = NULL;
    attempt("resource no array", &bad, &plain, NULL);
    image_free(&image);
}

// Records which formats support which read modes.
static void format_filters(void)
{
    struct image image;

    for (const struct texel_format *f = plain_formats; f->name; f++) {
        if (!image_make(label("filters %s", f->name), &image, f->name, 8, 8, 0, 0))
            continue;
        CUDA_RESOURCE_DESC r = image_resource(&image);
        for (unsigned k = 0; k < 16; k++) {
            unsigned flags = (k & 2 ? CU_TRSF_READ_AS_INTEGER : 0) |
                             (k & 4 ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
                             (k & 8 ? CU_TRSF_SRGB : 0);
            CUDA_TEXTURE_DESC t = sampler(k & 4 ? WRAP : CLAMP, (CUfilter_mode)(k & 1), flags);

            attempt(label("filter %s %x", f->name, k), &r, &t, NULL);
        }
        image_free(&image);
    }
}

static void linear_memory(void)
{
    CUdeviceptr memory;
    CUDA_TEXTURE_DESC t = sampler(CLAMP, POINT, 0), l = sampler(CLAMP, LINEAR, 0),
                      n = sampler(WRAP, LINEAR, CU_TRSF_NORMALIZED_COORDINATES);

    if (cuMemAlloc(&memory, 65536))
        return;
    static const size_t sizes[] = {0,         1,     3,     4,          16,
                                   17,        65536, 65537, 1ull << 29, (1ull << 29) + 4,
                                   1ull << 40};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};
        r.res.linear.devPtr = memory;
        r.res.linear.format = CU_AD_FORMAT_FLOAT;
        r.res.linear.numChannels = 1;
        r.res.linear.sizeInBytes = sizes[i];
        attempt(label("linear size %zu", sizes[i]), &r, &t, NULL);
    }
    static const size_t offsets[] = {1, 2, 4, 16, 32, 64, 128, 256, 512};
    for (size_t i = 0; i < COUNT(offsets); i++) {
        CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};
        r.res.linear.devPtr = memory + offsets[i];
        r.res.linear.format = CU_AD_FORMAT_FLOAT;
        r.res.linear.numChannels = 1;
        r.res.linear.sizeInBytes = 1024;
        attempt(label("linear offset %zu", offsets[i]), &r, &t, NULL);
        r.resType = CU_RESOURCE_TYPE_PITCH2D;
        r.res.pitch2D.width = 8;
        r.res.pitch2D.height = 4;
        r.res.pitch2D.pitchInBytes = 512;
        attempt(label("pitched offset %zu", offsets[i]), &r, &t, NULL);
        r.res.pitch2D.devPtr = memory;
        r.res.pitch2D.pitchInBytes = offsets[i];
        attempt(label("pitched pitch %zu", offsets[i]), &r, &t, NULL);
        r.res.pitch2D.pitchInBytes = 512 + offsets[i];
        attempt(label("pitched pitch %zu", 512 + offsets[i]), &r, &t, NULL);
    }
    for (unsigned k = 0; k < 24; k++) {
        CUDA_RESOURCE_DESC r = {.resType = k & 1 ? CU_RESOURCE_TYPE_PITCH2D
                                                 : CU_RESOURCE_TYPE_LINEAR};
        r.res.pitch2D.devPtr = memory;
        r.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
        r.res.pitch2D.numChannels = 1;
        if (k & 1) {
            r.res.pitch2D.width = 8;
            r.res.pitch2D.height = 4;
            r.res.pitch2D.pitchInBytes = 512;
        } else {
            r.res.linear.sizeInBytes = 1024;
        }
        const CUDA_TEXTURE_DESC *which = &t;
        switch (k >> 1) {
        case 1: which = &l; break;
        case 2: which = &n; break;
        case 3: r.res.linear.numChannels = 3; break;
        case 4: r.res.linear.numChannels = 0; break;
        case 5: r.res.linear.format = (CUarray_format)0; break;
        case 6: r.res.linear.format = (CUarray_format)0x77; break;
        case 7: r.res.linear.devPtr = 0; break;
        case 8: r.res.linear.devPtr = 4096; break;
        case 9: r.res.pitch2D.width = 0; break;
        case 10: r.res.pitch2D.height = 0; break;
        case 11: r.res.pitch2D.height = 70000; break;
        }
        attempt(label("memory %u %s", k >> 1, k & 1 ? "pitched" : "linear"), &r, which, NULL);
    }
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};
    r.res.linear.devPtr = memory;
    r.res.linear.format = CU_AD_FORMAT_FLOAT;
    r.res.linear.numChannels = 1;
    r.res.linear.sizeInBytes = 1024;
    CUsurfObject surface;
    result_line("surface of linear memory", cuSurfObjectCreate(&surface, &r));
    // Aligned as malloc aligned it when the answers were recorded, and never as a texture may be.
    r.res.linear.devPtr = (CUdeviceptr)(uintptr_t)aligned_alloc(4096, 4096) + 16;
    attempt("linear host memory", &r, &t, NULL);
    CUtexObject object = 0;
    r.res.linear.devPtr = memory;
    result_line("linear freed", cuTexObjectCreate(&object, &r, &t, NULL));
    cuMemFree(memory);
    result_line("linear freed query", cuTexObjectGetResourceDesc(&r, object));
    result_line("linear freed destroy", cuTexObjectDestroy(object));
}

static void descriptor_line(const char *name, const void *descriptor, size_t size)
{
    words_line(name, descriptor, size / 4);
}

// Queries return the given descriptors.
static void answers(void)
{
    struct image image;
    CUDA_TEXTURE_DESC t = sampler(WRAP, LINEAR, CU_TRSF_NORMALIZED_COORDINATES), got_t;
    CUDA_RESOURCE_DESC got_r;
    CUDA_RESOURCE_VIEW_DESC got_v,
        v = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 8, .height = 8};
    CUtexObject object = 0, viewed = 0;

    if (!image_make("answers", &image, "f32x1", 8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST))
        return;
    CUDA_RESOURCE_DESC r = image_resource(&image);
    t.maxAnisotropy = 5;
    t.mipmapLevelBias = 0.3f;
    t.minMipmapLevelClamp = 0.7f;
    t.maxMipmapLevelClamp = 3.1f;
    t.borderColor[2] = 0.1f;
    t.addressMode[2] = CU_TR_ADDRESS_MODE_BORDER;
    result_line("answers make", cuTexObjectCreate(&object, &r, &t, NULL));
    result_line("answers viewed", cuTexObjectCreate(&viewed, &r, &t, &v));
    memset(&got_t, 0xee, sizeof got_t);
    result_line("answers sampler", cuTexObjectGetTextureDesc(&got_t, object));
    descriptor_line("answers sampler", &got_t, sizeof got_t);
    memset(&got_r, 0xee, sizeof got_r);
    result_line("answers resource", cuTexObjectGetResourceDesc(&got_r, object));
    printf("answers same array: %d\n", got_r.res.array.hArray == image.array);
    got_r.res.array.hArray = NULL;
    descriptor_line("answers resource", &got_r, sizeof got_r);
    memset(&got_v, 0xee, sizeof got_v);
    result_line("answers no view", cuTexObjectGetResourceViewDesc(&got_v, object));
    descriptor_line("answers no view", &got_v, sizeof got_v);
    memset(&got_v, 0xee, sizeof got_v);
    result_line("answers view", cuTexObjectGetResourceViewDesc(&got_v, viewed));
    descriptor_line("answers view", &got_v, sizeof got_v);
    t.maxAnisotropy = 100;
    t.flags |= 0x20;
    cuTexObjectCreate(&viewed, &r, &t, NULL);
    memset(&got_t, 0xee, sizeof got_t);
    result_line("answers sampler 2", cuTexObjectGetTextureDesc(&got_t, viewed));
    descriptor_line("answers sampler 2", &got_t, sizeof got_t);
    result_line("answers sampler nowhere", cuTexObjectGetTextureDesc(NULL, object));
    result_line("answers resource nowhere", cuTexObjectGetResourceDesc(NULL, object));
    result_line("answers view nowhere", cuTexObjectGetResourceViewDesc(NULL, object));
    CUsurfObject surface = 0;
    result_line("answers surface make", cuSurfObjectCreate(&surface, &r));
    memset(&got_r, 0xee, sizeof got_r);
    result_line("answers surface", cuSurfObjectGetResourceDesc(&got_r, surface));
    printf("answers surface same array: %d\n", got_r.res.array.hArray == image.array);
    got_r.res.array.hArray = NULL;
    descriptor_line("answers surface", &got_r, sizeof got_r);
    result_line("answers surface as texture", cuTexObjectGetResourceDesc(&got_r, surface));
    result_line("answers texture as surface", cuSurfObjectGetResourceDesc(&got_r, object));
    result_line("destroy surface as texture", cuTexObjectDestroy(surface));
    result_line("destroy texture as surface", cuSurfObjectDestroy(object));
    result_line("destroy texture", cuTexObjectDestroy(object));
    result_line("destroy texture twice", cuTexObjectDestroy(object));
    result_line("destroy surface", cuSurfObjectDestroy(surface));
    result_line("destroy nothing", cuTexObjectDestroy(0));
    result_line("destroy no surface", cuSurfObjectDestroy(0));
    result_line("destroy garbage", cuTexObjectDestroy(0x123456789abcull));
    result_line("destroy garbage surface", cuSurfObjectDestroy(0x123456789abcull));
    result_line("query garbage", cuTexObjectGetResourceDesc(&got_r, 0x123456789abcull));
    result_line("query garbage sampler", cuTexObjectGetTextureDesc(&got_t, 77));
    result_line("query garbage view", cuTexObjectGetResourceViewDesc(&got_v, 77));
    result_line("query garbage surface", cuSurfObjectGetResourceDesc(&got_r, 77));
    printf("objects look like: ");
    for (unsigned i = 0; i < 4; i++) {
        cuTexObjectCreate(&object, &r, &t, NULL);
        cuSurfObjectCreate(&surface, &r);
        printf(" %llx %llx", object, surface);
    }
    printf("\n");
    image_free(&image);
}

static void surface_resources(void)
{
    static const struct {
        const char *name, *format;
        unsigned width, height, depth, flags;
    } kinds[] = {{"without flag", "f32x1", 8, 8, 0, 0}, {"plain", "f32x1", 8, 8, 0, 2},
                 {"unorm", "unorm8x4", 8, 8, 0, 2},     {"half", "f16x4", 8, 8, 0, 2},
                 {"gather", "f32x1", 8, 8, 0, 10},      {"cube", "f32x1", 8, 8, 6, 6},
                 {"layered", "f32x1", 8, 8, 6, 3}};
    struct image image;
    CUsurfObject surface;
    CUDA_RESOURCE_DESC r;

    for (size_t k = 0; k < COUNT(kinds); k++) {
        if (!image_make(kinds[k].name, &image, kinds[k].format, kinds[k].width, kinds[k].height,
                        kinds[k].depth, kinds[k].flags))
            continue;
        r = image_resource(&image);
        result_line(label("surface %s", kinds[k].name), cuSurfObjectCreate(&surface, &r));
        image_free(&image);
    }
    if (image_make_mipmap("surface mipmap", &image, "f32x1", 16, 16, 0, 2, 3)) {
        r = image_resource(&image);
        result_line("surface mipmap", cuSurfObjectCreate(&surface, &r));
        CUarray level;
        result_line("surface level array", cuMipmappedArrayGetLevel(&level, image.mipmap, 1));
        r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY};
        r.res.array.hArray = level;
        result_line("surface level", cuSurfObjectCreate(&surface, &r));
        CUDA_TEXTURE_DESC t = sampler(CLAMP, POINT, 0);
        attempt("texture of level", &r, &t, NULL);
        r.flags = 3;
        result_line("surface flags", cuSurfObjectCreate(&surface, &r));
        r.flags = 0;
        image_free(&image);
    }
    if (image_make_mipmap("mip sampler", &image, "f32x1", 16, 16, 0, 0, 3)) {
        r = image_resource(&image);
        for (unsigned k = 0; k < 8; k++) {
            CUDA_TEXTURE_DESC t =
                sampler(CLAMP, (CUfilter_mode)(k & 1), k & 2 ? CU_TRSF_NORMALIZED_COORDINATES : 0);

            t.mipmapFilterMode = (CUfilter_mode)(k >> 2);
            attempt(label("mip sampler %u", k), &r, &t, NULL);
        }
        image_free(&image);
    }
}

static void view_resources(void)
{
    struct image image;
    CUDA_TEXTURE_DESC t = sampler(CLAMP, POINT, 0);
    CUDA_RESOURCE_VIEW_DESC good = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                    .width = 16,
                                    .height = 8,
                                    .depth = 4,
                                    .firstMipmapLevel = 0,
                                    .lastMipmapLevel = 3,
                                    .firstLayer = 0,
                                    .lastLayer = 3},
                            v;

    if (!image_make_mipmap("view resources", &image, "f32x1", 16, 8, 4, CUDA_ARRAY3D_LAYERED, 4))
        return;
    CUDA_RESOURCE_DESC r = image_resource(&image);
    attempt("view good", &r, &t, &good);
    for (unsigned k = 0; k < 16; k++) {
        v = good;
        switch (k) {
        case 0: v.width = 8; break;
        case 1: v.width = 32; break;
        case 2: v.height = 4; break;
        case 3: v.depth = 2; break;
        case 4: v.depth = 0; break;
        case 5: v.lastMipmapLevel = 4; break;
        case 6: v.lastMipmapLevel = 1; break;
        case 7:
            v.firstMipmapLevel = 2;
            v.lastMipmapLevel = 1;
            break;
        case 8: v.lastLayer = 4; break;
        case 9:
            v.firstLayer = 2;
            v.lastLayer = 1;
            break;
        case 10: v.format = CU_RES_VIEW_FORMAT_NONE; break;
        case 11: v.format = (CUresourceViewFormat)99; break;
        case 12: v.format = CU_RES_VIEW_FORMAT_FLOAT_2X32; break;
        case 13: v.reserved[2] = 1; break;
        case 14: v.width = 0; break;
        case 15: v.lastLayer = 1; break;
        }
        attempt(label("view wrong %u", k), &r, &t, &v);
    }
    CUdeviceptr memory;
    if (!cuMemAlloc(&memory, 4096)) {
        CUDA_RESOURCE_DESC linear = {.resType = CU_RESOURCE_TYPE_LINEAR};
        linear.res.linear.devPtr = memory;
        linear.res.linear.format = CU_AD_FORMAT_FLOAT;
        linear.res.linear.numChannels = 1;
        linear.res.linear.sizeInBytes = 1024;
        attempt("view of linear", &linear, &t, &good);
    }
    image_free(&image);
}

const struct section descriptor_sections[] = {
    {"samplers", samplers},
    {"format-filters", format_filters},
    {"memory", linear_memory},
    {"answers", answers},
    {"surface-resources", surface_resources},
    {"view-resources", view_resources},
    {NULL, NULL},
};
