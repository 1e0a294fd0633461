// SPDX-License-Identifier: BSD-3-Clause
// Sections of the recorder: surfaces, and what textures and surfaces say of themselves.
#include "tests/textures/sampling.h"

#define LDST CUDA_ARRAY3D_SURFACE_LDST

static struct place places[64];
static uint32_t values[64][4];

static unsigned all_around(unsigned bytes)
{
    unsigned n = 0;

    for (int y = -1; y < 5; y++)
        for (int x = -1; x < 7 && n < 48; x++)
            places[n++] = (struct place){.x = x * (int)bytes, .y = y, .z = y - 1, .layer = y};
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < 4; k++)
            values[i][k] = 0x01010101u * (i + 1) + k * 0x80 + i * 0x1000;
    return n;
}

static void contents_line(const char *name, struct image *image)
{
    static uint32_t words[4096];

    memset(words, 0, sizeof words);
    image_get(name, image, words);
    words_line(name, words, (image_bytes(image, 0) + 3) / 4);
}

static void read_and_write(const char *shape, const char *format, unsigned bytes, unsigned width,
                           unsigned height, unsigned depth, unsigned flags)
{
    static const char *const modes[] = {"zero", "clamp"};
    struct image image;
    CUsurfObject surface;

    if (!image_make(shape, &image, format, width, height, depth, flags | LDST))
        return;
    image_put_random(shape, &image, 0, 9);
    surface = surface_make(label("surface %s %s", shape, format), &image);
    for (unsigned k = 0; surface && k < 2; k++) {
        unsigned n = all_around(bytes);

        if (!height)
            n = 8; // one row, as the others would be the same places again
        surface_read_line(label("read %s %s %s", shape, format, modes[k]),
                          label("read_%s_%u_%s", shape, bytes, modes[k]), surface, places, n,
                          bytes > 4 ? bytes / 4 : 1);
        // Places beyond are those of others when clamped: one value for all.
        for (unsigned i = 0; k && i < n; i++)
            memset(values[i], 0x5a, 16);
        CUresult result = surface_write(label("write_%s_%u_%s", shape, bytes, modes[k]), surface,
                                        places, n, (const uint32_t(*)[4])values);
        if (result)
            result_line(label("write %s %s %s", shape, format, modes[k]), result);
        contents_line(label("written %s %s %s", shape, format, modes[k]), &image);
    }
    image_free(&image);
}

static void surfaces(void)
{
    read_and_write("1d", "u32x1", 4, 6, 0, 0, 0);
    read_and_write("2d", "u8x1", 1, 6, 4, 0, 0);
    read_and_write("2d", "u16x1", 2, 6, 4, 0, 0);
    read_and_write("2d", "u32x1", 4, 6, 4, 0, 0);
    read_and_write("2d", "u8x4", 4, 6, 4, 0, 0);
    read_and_write("2d", "f32x2", 8, 6, 4, 0, 0);
    read_and_write("2d", "f32x4", 16, 6, 4, 0, 0);
    read_and_write("3d", "u32x1", 4, 6, 4, 3, 0);
    read_and_write("a1d", "u32x1", 4, 6, 0, 3, CUDA_ARRAY3D_LAYERED);
    read_and_write("a2d", "u32x1", 4, 6, 4, 3, CUDA_ARRAY3D_LAYERED);
    read_and_write("cube", "u32x1", 4, 4, 4, 6, CUDA_ARRAY3D_CUBEMAP);
}

// Accesses of another size than the texels'.
static void surface_sizes(void)
{
    read_and_write("2d", "u32x1", 1, 6, 4, 0, 0);
    read_and_write("2d", "u32x1", 8, 6, 4, 0, 0);
    read_and_write("2d", "u8x1", 4, 6, 4, 0, 0);
    read_and_write("2d", "f32x4", 4, 6, 4, 0, 0);
}

static void formatted(void)
{
    static const char *const modes[] = {"zero", "clamp"};
    static const uint32_t special[8][4] = {{0x3f800000, 0xbf000000, 0x40490fdb, 0x00000000},
                                           {0, 1, 127, 128},
                                           {255, 256, 65535, 65536},
                                           {0xffffffff, 0xffffff80, 0xffff8000, 0x80000000},
                                           {0x7f800000, 0xff800000, 0x7fc00000, 0x00000001},
                                           {0x477fe000, 0x477ff000, 0x33800000, 0x33000000},
                                           {0x3c008081, 0x3effffff, 0x7fffffff, 0x80000001},
                                           {0x3f7fffff, 0x3f000000, 0xbf800000, 0xc0000000}};
    struct image image;

    for (const struct texel_format *f = plain_formats; f->name; f++)
        for (unsigned k = 0; k < 2; k++) {
            CUsurfObject surface;
            unsigned n = all_around(1);

            if (!image_make(label("formatted %s", f->name), &image, f->name, 6, 4, 0, LDST))
                continue;
            image_put_random(f->name, &image, 0, 9);
            surface = surface_make(label("formatted %s", f->name), &image);
            if (surface) {
                for (unsigned i = 0; i < n; i++)
                    for (unsigned c = 0; c < 4; c++)
                        values[i][c] = k ? 0x3f000000 : special[i % 8][c];
                CUresult result = surface_write(label("format_%s", modes[k]), surface, places, n,
                                                (const uint32_t(*)[4])values);
                if (result)
                    result_line(label("formatted %s %s", f->name, modes[k]), result);
                contents_line(label("formatted %s %s", f->name, modes[k]), &image);
            }
            image_free(&image);
        }
}

static void reductions(void)
{
    static const struct {
        const char *kernel, *format;
        unsigned bytes;
    } kinds[] = {{"add_u32", "u32x1", 4},  {"min_u32", "u32x1", 4}, {"max_s32", "s32x1", 4},
                 {"and_b32", "u32x1", 4},  {"or_b32", "u32x1", 4},  {"add_u64", "u32x2", 8},
                 {"add_texel", "u32x1", 1}};
    struct image image;

    for (size_t k = 0; k < COUNT(kinds); k++) {
        unsigned n = all_around(kinds[k].bytes);

        if (!image_make(kinds[k].kernel, &image, kinds[k].format, 6, 4, 0, LDST))
            continue;
        image_put_random(kinds[k].kernel, &image, 0, 9);
        CUsurfObject surface = surface_make(kinds[k].kernel, &image);
        CUresult result = surface_write(label("reduce_%s", kinds[k].kernel), surface, places, n,
                                        (const uint32_t(*)[4])values);
        if (result)
            result_line(label("reduce %s", kinds[k].kernel), result);
        contents_line(label("reduce %s", kinds[k].kernel), &image);
        image_free(&image);
    }
}

static void trap_at(const char *name, const char *kernel, int x, int y, bool write)
{
    struct image image;
    CUresult result;

    if (!image_make(name, &image, "u32x1", 6, 4, 0, LDST))
        return;
    image_put_random(name, &image, 0, 9);
    CUsurfObject surface = surface_make(name, &image);
    places[0] = (struct place){.x = x, .y = y};
    if (write) {
        result = surface_write(kernel, surface, places, 1, (const uint32_t(*)[4])values);
        result_line(name, result);
    } else {
        surface_read_line(name, kernel, surface, places, 1, 1);
    }
    result_line(label("%s, then", name), cuCtxSynchronize());
}

static void trap_read(void)
{
    trap_at("trapped read", "read_2d_4_trap", 24, 0, false);
}
static void trap_write(void)
{
    trap_at("trapped write", "write_2d_4_trap", 0, 4, true);
}
static void trap_not(void)
{
    trap_at("untrapped read", "read_2d_4_trap", 20, 3, false);
}
static void trap_format(void)
{
    trap_at("trapped formatted write", "format_trap", 0, -1, true);
}
static void misaligned_read(void)
{
    trap_at("misaligned read", "read_2d_4_zero", 2, 0, false);
}
static void misaligned_write(void)
{
    trap_at("misaligned write", "write_2d_4_zero", 6, 0, true);
}

static void garbage(const char *name, uint64_t object, const char *kernel)
{
    struct sample in = {.x = 0.5f, .y = 0.5f};

    sample_line(name, kernel, object, &in, 1, 4);
    result_line(label("%s, then", name), cuCtxSynchronize());
}
static void garbage_one(void)
{
    garbage("texture 1", 1, "f_2d");
}
static void garbage_large(void)
{
    garbage("texture garbage", 0x123456789abcdefull, "f_2d");
}
static void garbage_surface(void)
{
    garbage("surface garbage", 0x123456789abcdefull, "read_2d_4_zero");
}
static void destroyed_texture(void)
{
    struct image image;
    CUDA_TEXTURE_DESC t = sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);

    if (!image_make("destroyed texture", &image, "f32x1", 4, 4, 0, 0))
        return;
    image_put_random("destroyed texture", &image, 0, 1);
    CUDA_RESOURCE_DESC r = image_resource(&image);
    CUtexObject object = texture_make("destroyed texture", &r, &t, NULL);
    cuTexObjectDestroy(object);
    garbage("destroyed texture", object, "f_2d");
}
static void destroyed_array(void)
{
    struct image image;
    CUDA_TEXTURE_DESC t = sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);

    if (!image_make("destroyed array", &image, "f32x1", 4, 4, 0, 0))
        return;
    image_put_random("destroyed array", &image, 0, 1);
    CUDA_RESOURCE_DESC r = image_resource(&image);
    CUtexObject object = texture_make("destroyed array", &r, &t, NULL);
    CUarray array = image.array;
    result_line("destroyed array destroy", cuArrayDestroy(array));
    result_line("destroyed array query", cuTexObjectGetResourceDesc(&r, object));
    printf("destroyed array same: %d\n", r.res.array.hArray == array);
    result_line("destroyed array texture destroy", cuTexObjectDestroy(object));
}
static void surface_as_texture(void)
{
    struct image image;

    if (!image_make("surface as texture", &image, "f32x1", 4, 4, 0, LDST))
        return;
    image_put_random("surface as texture", &image, 0, 1);
    garbage("surface as texture", surface_make("surface as texture", &image), "f_2d");
}
static void wrong_dimensions(void)
{
    struct image image;
    CUDA_TEXTURE_DESC t = sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);

    if (!image_make("wrong dimensions", &image, "f32x1", 4, 4, 0, 0))
        return;
    image_put_random("wrong dimensions", &image, 0, 1);
    CUDA_RESOURCE_DESC r = image_resource(&image);
    CUtexObject object = texture_make("wrong dimensions", &r, &t, NULL);
    garbage("2d as 1d", object, "f_1d");
    garbage("2d as 3d", object, "f_3d");
    garbage("2d as a2d", object, "f_a2d");
}

static void query_line(const char *name, const char *kernel, uint64_t object, unsigned *extra)
{
    CUdeviceptr out;
    uint32_t got[3];
    CUresult result = cuMemAlloc(&out, 16);

    if (!result)
        result = cuMemsetD8(out, 0xee, 16);
    if (!result)
        result = kernel_run(kernel, 1, (void *[]){&object, &out, extra});
    if (!result)
        result = cuMemcpyDtoH(got, out, 12);
    if (result)
        result_line(name, result);
    else
        words_line(name, got, 3);
}

static void queries(void)
{
    static const struct {
        const char *format;
        unsigned width, height, depth, flags, levels;
    } kinds[] = {{"f32x1", 7, 0, 0, 0, 0},
                 {"u8x4", 7, 5, 0, 0, 0},
                 {"s16x2", 7, 5, 3, 0, 0},
                 {"f16x4", 7, 5, 3, CUDA_ARRAY3D_LAYERED, 0},
                 {"u32x1", 7, 0, 3, CUDA_ARRAY3D_LAYERED, 0},
                 {"f32x1", 8, 8, 6, CUDA_ARRAY3D_CUBEMAP, 0},
                 {"f32x1", 16, 8, 0, 0, 4}};
    struct image image;

    for (size_t k = 0; k < COUNT(kinds); k++) {
        bool made = kinds[k].levels
                        ? image_make_mipmap("query", &image, kinds[k].format, kinds[k].width,
                                            kinds[k].height, kinds[k].depth, kinds[k].flags | LDST,
                                            kinds[k].levels)
                        : image_make("query", &image, kinds[k].format, kinds[k].width,
                                     kinds[k].height, kinds[k].depth, kinds[k].flags | LDST);
        if (!made)
            continue;
        CUDA_RESOURCE_DESC r = image_resource(&image);
        CUDA_TEXTURE_DESC t = sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
                                      k & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0);
        CUtexObject object = texture_make(label("query texture %zu", k), &r, &t, NULL);
        if (object) {
            query_line(label("query size %zu", k), "query_texture", object, NULL);
            for (unsigned level = 0; level < 5; level++)
                query_line(label("query level %u of %zu", level, k), "query_level", object, &level);
        }
        if (!kinds[k].levels) {
            CUsurfObject surface = surface_make(label("query surface %zu", k), &image);
            query_line(label("query surface %zu", k), "query_surface", surface, NULL);
        }
        image_free(&image);
    }
}

// Records which kernels a device accepts.
static void kernels(void)
{
    kernels_try();
}

const struct section surface_sections[] = {
    {"kernels", kernels},
    {"surfaces", surfaces},
    {"surface-sizes", surface_sizes},
    {"formatted", formatted},
    {"reductions", reductions},
    {"queries", queries},
    {"trap-read", trap_read},
    {"trap-write", trap_write},
    {"trap-not", trap_not},
    {"trap-format", trap_format},
    {"misaligned-read", misaligned_read},
    {"misaligned-write", misaligned_write},
    {"garbage-one", garbage_one},
    {"garbage-large", garbage_large},
    {"garbage-surface", garbage_surface},
    {"destroyed-texture", destroyed_texture},
    {"destroyed-array", destroyed_array},
    {"surface-as-texture", surface_as_texture},
    {"wrong-dimensions", wrong_dimensions},
    {NULL, NULL},
};
