// SPDX-License-Identifier: BSD-3-Clause
// Arrays, objects and lines of the recorder.
#include "tests/textures/sampling.h"

const struct texel_format plain_formats[] = {
    {"u8x1", CU_AD_FORMAT_UNSIGNED_INT8, 1, 1, true},
    {"u8x2", CU_AD_FORMAT_UNSIGNED_INT8, 2, 1, true},
    {"u8x4", CU_AD_FORMAT_UNSIGNED_INT8, 4, 1, true},
    {"s8x1", CU_AD_FORMAT_SIGNED_INT8, 1, 1, true},
    {"s8x2", CU_AD_FORMAT_SIGNED_INT8, 2, 1, true},
    {"s8x4", CU_AD_FORMAT_SIGNED_INT8, 4, 1, true},
    {"u16x1", CU_AD_FORMAT_UNSIGNED_INT16, 1, 2, true},
    {"u16x2", CU_AD_FORMAT_UNSIGNED_INT16, 2, 2, true},
    {"u16x4", CU_AD_FORMAT_UNSIGNED_INT16, 4, 2, true},
    {"s16x1", CU_AD_FORMAT_SIGNED_INT16, 1, 2, true},
    {"s16x2", CU_AD_FORMAT_SIGNED_INT16, 2, 2, true},
    {"s16x4", CU_AD_FORMAT_SIGNED_INT16, 4, 2, true},
    {"u32x1", CU_AD_FORMAT_UNSIGNED_INT32, 1, 4, true},
    {"u32x2", CU_AD_FORMAT_UNSIGNED_INT32, 2, 4, true},
    {"u32x4", CU_AD_FORMAT_UNSIGNED_INT32, 4, 4, true},
    {"s32x1", CU_AD_FORMAT_SIGNED_INT32, 1, 4, true},
    {"s32x4", CU_AD_FORMAT_SIGNED_INT32, 4, 4, true},
    {"f16x1", CU_AD_FORMAT_HALF, 1, 2, false},
    {"f16x2", CU_AD_FORMAT_HALF, 2, 2, false},
    {"f16x4", CU_AD_FORMAT_HALF, 4, 2, false},
    {"f32x1", CU_AD_FORMAT_FLOAT, 1, 4, false},
    {"f32x2", CU_AD_FORMAT_FLOAT, 2, 4, false},
    {"f32x4", CU_AD_FORMAT_FLOAT, 4, 4, false},
    {"unorm8x1", CU_AD_FORMAT_UNORM_INT8X1, 1, 1, false},
    {"unorm8x2", CU_AD_FORMAT_UNORM_INT8X2, 2, 1, false},
    {"unorm8x4", CU_AD_FORMAT_UNORM_INT8X4, 4, 1, false},
    {"unorm16x1", CU_AD_FORMAT_UNORM_INT16X1, 1, 2, false},
    {"unorm16x2", CU_AD_FORMAT_UNORM_INT16X2, 2, 2, false},
    {"unorm16x4", CU_AD_FORMAT_UNORM_INT16X4, 4, 2, false},
    {"snorm8x1", CU_AD_FORMAT_SNORM_INT8X1, 1, 1, false},
    {"snorm8x4", CU_AD_FORMAT_SNORM_INT8X4, 4, 1, false},
    {"snorm16x1", CU_AD_FORMAT_SNORM_INT16X1, 1, 2, false},
    {"snorm16x4", CU_AD_FORMAT_SNORM_INT16X4, 4, 2, false},
    {NULL, 0, 0, 0, false},
};

const struct texel_format *format_named(const char *name)
{
    const struct texel_format *f = plain_formats;

    while (f->name && strcmp(f->name, name))
        f++;
    if (!f->name)
        abort();
    return f;
}

const char *label(const char *format, ...)
{
    static char texts[8][160];
    static unsigned next;
    char *text = texts[next++ % 8];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof texts[0], format, args);
    va_end(args);
    return text;
}

void result_line(const char *name, CUresult result)
{
    printf("%s: result %d\n", name, result);
    fflush(stdout);
}

void words_line(const char *name, const void *words, size_t count)
{
    printf("%s:", name);
    for (size_t i = 0; i < count; i++) {
        uint32_t word;

        memcpy(&word, (const char *)words + 4 * i, 4);
        printf(" %x", word);
    }
    printf("\n");
    fflush(stdout);
}

uint32_t random_word(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 32);
}

float random_unit(uint64_t *state)
{
    return (float)(random_word(state) >> 16) / 65536.0f;
}

uint16_t half_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, 4);
    int exponent = (int)(bits >> 23 & 255) - 112;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (exponent <= 0)
        return sign;
    return (uint16_t)(sign | (uint32_t)exponent << 10 | (bits >> 13 & 0x3FF));
}

static unsigned level_of(unsigned extent, unsigned level)
{
    if (!extent)
        return 0;
    return extent >> level ? extent >> level : 1;
}

static unsigned level_depth(const struct image *image, unsigned level)
{
    bool layered = image->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);

    return layered ? image->depth : level_of(image->depth, level);
}

size_t image_bytes(const struct image *image, unsigned level)
{
    unsigned h = level_of(image->height, level), d = level_depth(image, level);

    return (size_t)image->format->channels * image->format->bytes * level_of(image->width, level) *
           (h ? h : 1) * (d ? d : 1);
}

static CUDA_ARRAY3D_DESCRIPTOR describe(struct image *image, const char *format, unsigned width,
                                        unsigned height, unsigned depth, unsigned flags)
{
    *image = (struct image){.format = format_named(format),
                            .width = width,
                            .height = height,
                            .depth = depth,
                            .flags = flags,
                            .levels = 1};
    return (CUDA_ARRAY3D_DESCRIPTOR){.Width = width,
                                     .Height = height,
                                     .Depth = depth,
                                     .Format = image->format->format,
                                     .NumChannels = image->format->channels,
                                     .Flags = flags};
}

bool image_make(const char *name, struct image *image, const char *format, unsigned width,
                unsigned height, unsigned depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = describe(image, format, width, height, depth, flags);
    CUresult result = cuArray3DCreate(&image->array, &d);

    if (result)
        result_line(label("%s array", name), result);
    return !result;
}

bool image_make_mipmap(const char *name, struct image *image, const char *format, unsigned width,
                       unsigned height, unsigned depth, unsigned flags, unsigned levels)
{
    CUDA_ARRAY3D_DESCRIPTOR d = describe(image, format, width, height, depth, flags);
    CUresult result = cuMipmappedArrayCreate(&image->mipmap, &d, levels);

    image->levels = levels;
    if (result)
        result_line(label("%s mipmap", name), result);
    return !result;
}

static CUresult image_copy(struct image *image, unsigned level, void *texels, bool in)
{
    unsigned w = level_of(image->width, level), h = level_of(image->height, level),
             d = level_depth(image, level);
    size_t row = (size_t)w * image->format->channels * image->format->bytes;
    CUarray array = image->array;
    CUresult result = CUDA_SUCCESS;
    CUDA_MEMCPY3D c = {.WidthInBytes = row, .Height = h ? h : 1, .Depth = d ? d : 1};

    if (image->mipmap)
        result = cuMipmappedArrayGetLevel(&array, image->mipmap, level);
    if (result)
        return result;
    c.srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = in ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    if (in) {
        c.srcHost = texels;
        c.srcPitch = row;
        c.srcHeight = c.Height;
        c.dstArray = array;
    } else {
        c.dstHost = texels;
        c.dstPitch = row;
        c.dstHeight = c.Height;
        c.srcArray = array;
    }
    return cuMemcpy3D(&c);
}

void image_put(const char *name, struct image *image, unsigned level, const void *texels)
{
    CUresult result = image_copy(image, level, (void *)(uintptr_t)texels, true);

    if (result)
        result_line(label("%s put", name), result);
}

void image_get(const char *name, struct image *image, void *texels)
{
    CUresult result = image_copy(image, 0, texels, false);

    if (result)
        result_line(label("%s get", name), result);
}

void image_put_random(const char *name, struct image *image, unsigned level, uint64_t seed)
{
    size_t bytes = image_bytes(image, level);
    char *texels = malloc(bytes);

    if (!texels)
        abort();
    for (size_t i = 0; i < bytes; i++)
        texels[i] = (char)random_word(&seed);
    for (size_t i = 0; image->format->format == CU_AD_FORMAT_FLOAT && i + 4 <= bytes; i += 4) {
        float value = (float)(int32_t)random_word(&seed) / 2147483648.0f;

        memcpy(texels + i, &value, 4);
    }
    for (size_t i = 0; image->format->format == CU_AD_FORMAT_HALF && i + 2 <= bytes; i += 2) {
        uint16_t value = half_bits((float)(int32_t)random_word(&seed) / 2147483648.0f);

        memcpy(texels + i, &value, 2);
    }
    image_put(name, image, level, texels);
    free(texels);
}

void image_free(struct image *image)
{
    if (image->array)
        cuArrayDestroy(image->array);
    if (image->mipmap)
        cuMipmappedArrayDestroy(image->mipmap);
    *image = (struct image){0};
}

CUDA_RESOURCE_DESC image_resource(const struct image *image)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};

    if (image->mipmap) {
        r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        r.res.mipmap.hMipmappedArray = image->mipmap;
    } else {
        r.res.array.hArray = image->array;
    }
    return r;
}

CUDA_TEXTURE_DESC sampler(CUaddress_mode mode, CUfilter_mode filter, unsigned flags)
{
    return (
        CUDA_TEXTURE_DESC){.addressMode = {mode, mode, mode}, .filterMode = filter, .flags = flags};
}

CUtexObject texture_make(const char *name, const CUDA_RESOURCE_DESC *resource,
                         const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUtexObject object = 0;
    CUresult result = cuTexObjectCreate(&object, resource, texture, view);

    if (result)
        result_line(name, result);
    return result ? 0 : object;
}

CUsurfObject surface_make(const char *name, const struct image *image)
{
    CUDA_RESOURCE_DESC resource = image_resource(image);
    CUsurfObject object = 0;
    CUresult result = cuSurfObjectCreate(&object, &resource);

    if (result)
        result_line(name, result);
    return result ? 0 : object;
}

// The text of sampling.ptx, ended by a zero byte.
__asm__(".pushsection .rodata\n"
        "sampling_ptx: .incbin \"tests/textures/sampling.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char sampling_ptx[] __attribute__((visibility("hidden")));

#define MAX_KERNELS 256
static struct kernel_module {
    const char *name;
    CUfunction function;
    CUresult result;
} kernels[MAX_KERNELS];

// Each kernel is a module of its own, as drivers refuse a module for one instruction that they do
// not take.
static CUresult load_kernel(const char *name, CUfunction *function)
{
    const char *first = strstr(sampling_ptx, ".visible .entry");
    const char *entry = strstr(sampling_ptx, label(".visible .entry %s(", name)), *end;
    size_t before = (size_t)(first - sampling_ptx);
    CUmodule module;
    CUresult result;

    if (!entry || !(end = strstr(entry, "\n}")))
        return CUDA_ERROR_NOT_FOUND;
    char *text = calloc(1, before + (size_t)(end - entry) + 4);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(text, sampling_ptx, before);
    memcpy(text + before, entry, (size_t)(end - entry) + 3);
    result = cuModuleLoadData(&module, text);
    free(text);
    return result ? result : cuModuleGetFunction(function, module, name);
}

static const struct kernel_module *find_kernel(const char *name)
{
    struct kernel_module *k = kernels;

    while (k->name && strcmp(k->name, name))
        k++;
    if (!k->name) {
        k->name = strdup(name);
        k->result = load_kernel(name, &k->function);
        if (k->result)
            result_line(label("kernel %s", name), k->result);
    }
    return k;
}

void kernels_try(void)
{
    static const char start[] = ".visible .entry ";
    const char *at = sampling_ptx;
    unsigned count = 0;

    while ((at = strstr(at, start))) {
        char name[64] = "";

        at += sizeof start - 1;
        memcpy(name, at, strcspn(at, "(") < sizeof name ? strcspn(at, "(") : 0);
        find_kernel(name);
        count++;
    }
    printf("kernels: %u\n", count);
}

CUresult kernel_run(const char *name, unsigned count, void **arguments)
{
    const struct kernel_module *kernel = find_kernel(name);
    CUresult result = kernel->result;

    if (!result)
        result = cuLaunchKernel(kernel->function, (count + 63) / 64, 1, 1, 64, 1, 1, 0, NULL,
                                arguments, NULL);
    return result ? result : cuCtxSynchronize();
}

static CUdeviceptr inputs, outputs; // space for MAX_SAMPLES

static CUresult find_room(void)
{
    CUresult result = CUDA_SUCCESS;

    if (!inputs)
        result = cuMemAlloc(&inputs, MAX_SAMPLES * sizeof(struct sample));
    if (!result && !outputs)
        result = cuMemAlloc(&outputs, MAX_SAMPLES * 16);
    return result;
}

// Four words for each of `count` inputs.
static CUresult read_through(const char *kernel, uint64_t object, const void *in, size_t size,
                             unsigned count, uint32_t (*out)[4])
{
    CUresult result = find_room();

    if (!result)
        result = cuMemcpyHtoD(inputs, in, size * count);
    if (!result)
        result = kernel_run(kernel, count, (void *[]){&object, &inputs, &outputs, &count});
    return result ? result : cuMemcpyDtoH(out, outputs, 16 * count);
}

static void read_line(const char *name, const char *kernel, uint64_t object, const void *in,
                      size_t size, unsigned count, unsigned components)
{
    static uint32_t got[MAX_SAMPLES][4], packed[MAX_SAMPLES * 4];
    size_t n = 0;
    CUresult result;

    if (!object || count > MAX_SAMPLES)
        return;
    result = read_through(kernel, object, in, size, count, got);
    if (result) {
        result_line(name, result);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < components; k++)
            packed[n++] = got[i][k];
    words_line(name, packed, n);
}

void sample_line(const char *name, const char *kernel, CUtexObject texture,
                 const struct sample *samples, unsigned count, unsigned components)
{
    read_line(name, kernel, texture, samples, sizeof *samples, count, components);
}

void surface_read_line(const char *name, const char *kernel, CUsurfObject surface,
                       const struct place *places, unsigned count, unsigned words)
{
    read_line(name, kernel, surface, places, sizeof *places, count, words);
}

CUresult surface_write(const char *kernel, CUsurfObject surface, const struct place *places,
                       unsigned count, const uint32_t (*values)[4])
{
    CUresult result = find_room();

    if (!result)
        result = cuMemcpyHtoD(inputs, places, sizeof *places * count);
    if (!result)
        result = cuMemcpyHtoD(outputs, values, 16 * count);
    if (!result)
        result = kernel_run(kernel, count, (void *[]){&surface, &inputs, &outputs, &count});
    return result;
}
