// SPDX-License-Identifier: BSD-3-Clause
// Seeded random programs on arrays that kernels read as textures and write as surfaces, in several
// streams. A model predicts the texels that copies, kernels and other arrays have written; the
// programs read them at random coordinates with random samplers.
//
//     array-reads-random [FIRST-SEED [COUNT]]
#include "tests/programs/array_calls.h"
#include "tests/programs/texture_calls.h"

#include <math.h>

__asm__(".pushsection .rodata\n"
        "images_ptx: .incbin \"tests/programs/images.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char images_ptx[] __attribute__((visibility("hidden")));

enum { IMAGES = 4, STREAMS = 2, STEPS = 30, READS = 128, EXTENT_MAX = 256, DEFAULT_COUNT = 40 };

enum kind { ARRAY, LEVEL, PITCHED };

static const struct format {
    CUarray_format format;
    unsigned bytes;
    double most; // the integer that stands for 1; 0: floats
} formats[] = {{CU_AD_FORMAT_FLOAT, 4, 0},
               {CU_AD_FORMAT_UNSIGNED_INT8, 1, 255},
               {CU_AD_FORMAT_UNSIGNED_INT16, 2, 65535}};

struct image {
    enum kind kind;
    const struct format *format;
    unsigned width, height, channels;
    CUarray array;
    CUmipmappedArray mipmap;
    CUdeviceptr memory;
    size_t pitch;
    unsigned char *model; // rows without gaps
    CUtexObject texture;  // 0: none now
    CUDA_TEXTURE_DESC sampler;
    bool surface;
    int last; // the stream of its last work; -1: none
};

static struct gpu gpu;
static CUmodule module;
static CUstream streams[STREAMS];
static CUevent marks[STREAMS];
static CUdeviceptr places, results;
static struct image images[IMAGES];
static uint64_t seed;
static size_t wrong;

static unsigned below(unsigned limit)
{
    return random_u32(&seed) % limit;
}

static size_t texel_size(const struct image *image)
{
    return image->format->bytes * image->channels;
}

static size_t row_size(const struct image *image)
{
    return image->width * texel_size(image);
}

// ---- order ----

static CUstream enter(struct image *image)
{
    int stream = (int)below(STREAMS);
    if (image->last >= 0 && image->last != stream) {
        CHECK(cuEventRecord(marks[image->last], streams[image->last]));
        CHECK(cuStreamWaitEvent(streams[stream], marks[image->last], 0));
    }
    image->last = stream;
    return streams[stream];
}

static CUstream enter_both(struct image *image, struct image *other)
{
    CUstream stream = enter(image);
    if (other->last >= 0 && other->last != image->last) {
        CHECK(cuEventRecord(marks[other->last], streams[other->last]));
        CHECK(cuStreamWaitEvent(stream, marks[other->last], 0));
    }
    other->last = image->last;
    return stream;
}

// ---- images ----

static void describe_memory(const struct image *image, CUDA_RESOURCE_DESC *resource)
{
    resource->resType = CU_RESOURCE_TYPE_PITCH2D;
    resource->res.pitch2D.devPtr = image->memory;
    resource->res.pitch2D.format = image->format->format;
    resource->res.pitch2D.numChannels = image->channels;
    resource->res.pitch2D.width = image->width;
    resource->res.pitch2D.height = image->height;
    resource->res.pitch2D.pitchInBytes = image->pitch;
}

static CUDA_RESOURCE_DESC resource_of(const struct image *image)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    if (image->kind == PITCHED)
        describe_memory(image, &resource);
    else
        resource.res.array.hArray = image->array;
    return resource;
}

static void make_storage(struct image *image)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = image->width,
                                 .Height = image->height,
                                 .Format = image->format->format,
                                 .NumChannels = image->channels,
                                 .Flags = image->surface ? CUDA_ARRAY3D_SURFACE_LDST : 0};
    if (image->kind == PITCHED) {
        image->pitch = (row_size(image) + 31) / 32 * 32 + 32 * below(3);
        image->memory = device_alloc(image->pitch * image->height);
    } else if (image->kind == ARRAY) {
        CHECK(cuArray3DCreate(&image->array, &d));
    } else {
        d.Width *= 2;
        d.Height *= 2;
        CHECK(cuMipmappedArrayCreate(&image->mipmap, &d, 3));
        CHECK(cuMipmappedArrayGetLevel(&image->array, image->mipmap, 1));
    }
}

static void describe(CUDA_MEMCPY2D *copy, const struct image *image, bool to)
{
    CUmemorytype type = image->kind == PITCHED ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_ARRAY;
    if (to) {
        copy->dstMemoryType = type;
        copy->dstArray = image->array;
        copy->dstDevice = image->memory;
        copy->dstPitch = image->pitch;
    } else {
        copy->srcMemoryType = type;
        copy->srcArray = image->array;
        copy->srcDevice = image->memory;
        copy->srcPitch = image->pitch;
    }
}

// Part of the model to the image.
static void put_part(struct image *image, unsigned x, unsigned y, unsigned width, unsigned height)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = image->model,
                          .srcPitch = row_size(image),
                          .srcXInBytes = x * texel_size(image),
                          .srcY = y,
                          .dstXInBytes = x * texel_size(image),
                          .dstY = y,
                          .WidthInBytes = width * texel_size(image),
                          .Height = height};
    describe(&copy, image, true);
    CHECK(cuMemcpy2DAsync(&copy, enter(image)));
}

// Fills the rectangle of the model with random texels: numbers for floats, arbitrary bits for other
// types.
static void change_model(struct image *image, unsigned x, unsigned y, unsigned width,
                         unsigned height)
{
    for (unsigned row = y; row < y + height; row++) {
        unsigned char *at = image->model + row * row_size(image) + x * texel_size(image);
        for (size_t i = 0; i < width * texel_size(image); i += 4) {
            uint32_t word = random_u32(&seed);
            float value = (float)(int32_t)word;
            size_t left = width * texel_size(image) - i;
            memcpy(at + i, image->format->most ? (void *)&word : (void *)&value,
                   left < 4 ? left : 4);
        }
    }
}

static void begin_image(struct image *image)
{
    memset(image, 0, sizeof(*image));
    image->kind = (enum kind)below(3);
    image->format = &formats[below(3)];
    image->channels = 1u << below(3);
    image->surface = image->kind != PITCHED && below(2);
    image->width = 1u << below(9);
    image->height = 1u << below(below(3) ? 5 : 9);
    image->last = -1;
    image->model = must_alloc(row_size(image) * image->height);
    make_storage(image);
    change_model(image, 0, 0, image->width, image->height);
    put_part(image, 0, 0, image->width, image->height);
}

static void end_image(struct image *image)
{
    CHECK(cuCtxSynchronize());
    if (image->texture)
        CHECK(cuTexObjectDestroy(image->texture));
    if (image->kind == PITCHED)
        CHECK(cuMemFree(image->memory));
    else if (image->kind == ARRAY)
        CHECK(cuArrayDestroy(image->array));
    else
        CHECK(cuMipmappedArrayDestroy(image->mipmap));
    free(image->model);
}

// ---- reading ----

static void make_texture(struct image *image)
{
    CUDA_RESOURCE_DESC resource = resource_of(image);
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_POINT, .maxMipmapLevelClamp = 8};
    t.flags = below(2) ? CU_TRSF_NORMALIZED_COORDINATES : 0;
    for (int i = 0; i < 2; i++) // the others are of normalized coordinates
        t.addressMode[i] = (CUaddress_mode)(t.flags ? below(4) : 1 + 2 * below(2));
    t.borderColor[0] = (float)below(2);
    CHECK(cuTexObjectCreate(&image->texture, &resource, &t, NULL));
    image->sampler = t;
}

// Returns the texel that AT selects along an extent; -1 is the border.
static int texel_at(CUaddress_mode mode, int at, int extent)
{
    int turn = at >= 0 ? at / extent : -((extent - 1 - at) / extent), within = at - turn * extent;
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP: return within;
    case CU_TR_ADDRESS_MODE_MIRROR: return turn & 1 ? extent - 1 - within : within;
    case CU_TR_ADDRESS_MODE_CLAMP: return at < 0 ? 0 : at >= extent ? extent - 1 : at;
    case CU_TR_ADDRESS_MODE_BORDER: break;
    }
    return at < 0 || at >= extent ? -1 : at;
}

static float model_value(const struct image *image, int x, int y)
{
    uint32_t whole = 0;
    float value;
    x = texel_at(image->sampler.addressMode[0], x, (int)image->width);
    y = texel_at(image->sampler.addressMode[1], y, (int)image->height);
    if (x < 0 || y < 0)
        return image->sampler.borderColor[0];
    const unsigned char *at = image->model + (size_t)y * row_size(image) +
                              (size_t)x * texel_size(image);
    if (!image->format->most) {
        memcpy(&value, at, 4);
        return value;
    }
    memcpy(&whole, at, image->format->bytes);
    return (float)(whole / image->format->most);
}

static void read_image(struct image *image)
{
    int wanted[READS][2];
    float at[READS][2], got[READS];
    unsigned n = READS;
    if (image->texture && below(3) == 0) {
        CHECK(cuCtxSynchronize());
        CHECK(cuTexObjectDestroy(image->texture));
        image->texture = 0;
    }
    if (!image->texture)
        make_texture(image);
    bool normalized = image->sampler.flags & CU_TRSF_NORMALIZED_COORDINATES;
    for (unsigned i = 0; i < READS; i++)
        for (int k = 0; k < 2; k++) {
            unsigned extent = k ? image->height : image->width;
            wanted[i][k] = (int)below(3 * extent) - (int)extent;
            at[i][k] = ((float)wanted[i][k] + 0.5f) / (normalized ? (float)extent : 1);
        }
    CUstream stream = enter(image);
    CUfunction kernel;
    CHECK(cuModuleGetFunction(&kernel, module, "read_2d"));
    // all earlier readers have been waited for
    CHECK(cuMemcpyHtoDAsync(places, at, sizeof at, stream));
    launch(kernel, 2, READS / 2, stream, &image->texture, &places, &results, &n);
    CHECK(cuMemcpyDtoHAsync(got, results, sizeof got, stream));
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < READS; i++)
        wrong += got[i] != model_value(image, wanted[i][0], wanted[i][1]);
}

// ---- other steps ----

static void random_part(const struct image *image, unsigned part[4])
{
    part[2] = 1 + below(image->width);
    part[3] = 1 + below(image->height);
    part[0] = below(image->width - part[2] + 1);
    part[1] = below(image->height - part[3] + 1);
}

static void change(struct image *image)
{
    unsigned part[4];
    random_part(image, part);
    if (image->last >= 0)
        CHECK(cuStreamSynchronize(streams[image->last])); // copies have read the model
    change_model(image, part[0], part[1], part[2], part[3]);
    put_part(image, part[0], part[1], part[2], part[3]);
}

static void fill_surface(struct image *image)
{
    CUDA_RESOURCE_DESC resource = resource_of(image);
    CUsurfObject surface;
    CUfunction kernel;
    unsigned width = 1 + below(image->width), height = 1 + below(image->height);
    float value = (float)below(1000);
    if (!image->surface || image->format->most || image->channels != 1)
        return;
    CHECK(cuSurfObjectCreate(&surface, &resource));
    CHECK(cuModuleGetFunction(&kernel, module, "fill_surface"));
    CUstream stream = enter(image);
    void *arguments[] = {&surface, &width, &height, &value};
    CHECK(
        cuLaunchKernel(kernel, (width + 63) / 64, height, 1, 64, 1, 1, 0, stream, arguments, NULL));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuSurfObjectDestroy(surface));
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            float texel = value + (float)x + 1000.0f * (float)y;
            memcpy(image->model + y * row_size(image) + x * 4, &texel, 4);
        }
}

static void copy_between(struct image *image)
{
    struct image *from = &images[below(IMAGES)];
    if (from == image || texel_size(from) != texel_size(image) || from->format != image->format)
        return;
    unsigned width = from->width < image->width ? from->width : image->width;
    unsigned height = from->height < image->height ? from->height : image->height;
    CUDA_MEMCPY2D copy = {.WidthInBytes = width * texel_size(image), .Height = height};
    describe(&copy, image, true);
    describe(&copy, from, false);
    CHECK(cuMemcpy2DAsync(&copy, enter_both(image, from)));
    CHECK(cuStreamSynchronize(streams[image->last])); // both models are as they were
    for (unsigned y = 0; y < height; y++)
        memcpy(image->model + y * row_size(image), from->model + y * row_size(from),
               width * texel_size(image));
}

static void look(struct image *image)
{
    size_t size = row_size(image) * image->height;
    unsigned char *back = must_alloc(size);
    CUDA_MEMCPY2D copy = {.dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = row_size(image),
                          .WidthInBytes = row_size(image),
                          .Height = image->height};
    describe(&copy, image, false);
    CUstream stream = enter(image);
    CHECK(cuMemcpy2DAsync(&copy, stream));
    CHECK(cuStreamSynchronize(stream));
    wrong += memcmp(back, image->model, size) != 0;
    free(back);
}

static void begin_again(struct image *image)
{
    end_image(image);
    begin_image(image);
}

static bool passes(uint64_t number)
{
    static void (*const steps[])(struct image *) = {read_image,   read_image,   read_image,
                                                    read_image,   change,       change,
                                                    fill_surface, look,         look,
                                                    begin_again,  copy_between, copy_between};
    seed = number * 0x9E3779B97F4A7C15ULL + 1;
    wrong = 0;
    for (int i = 0; i < IMAGES; i++)
        begin_image(&images[i]);
    for (int i = 0; i < STEPS && !wrong; i++)
        steps[below(sizeof(steps) / sizeof(steps[0]))](&images[below(IMAGES)]);
    for (int i = 0; i < IMAGES; i++) {
        look(&images[i]);
        read_image(&images[i]);
        end_image(&images[i]);
    }
    if (wrong)
        diag("seed %llu: %zu reads differ from the model", (unsigned long long)number, wrong);
    return !wrong;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_COUNT, failed = 0;
    gpu = open_gpu(0);
    CHECK(cuModuleLoadData(&module, images_ptx));
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cuStreamCreate(&streams[i], i ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        CHECK(cuEventCreate(&marks[i], CU_EVENT_DISABLE_TIMING));
    }
    places = device_alloc(READS * 2 * sizeof(float));
    results = device_alloc(READS * sizeof(float));
    for (uint64_t i = 0; i < count; i++)
        failed += !passes(first + i);
    is_int((int64_t)failed, 0, "%llu random programs read what the model says",
           (unsigned long long)count);
    close_gpu(&gpu);
    return done();
}
