// SPDX-License-Identifier: BSD-3-Clause
// Sections of the recorder: levels, derivatives, cubes, layers, gathers, linear memory, views.
#include "tests/textures/sampling.h"

#define LINEAR CU_TR_FILTER_MODE_LINEAR
#define POINT CU_TR_FILTER_MODE_POINT
#define NORMALIZED CU_TRSF_NORMALIZED_COORDINATES
#define CLAMP CU_TR_ADDRESS_MODE_CLAMP
#define WRAP CU_TR_ADDRESS_MODE_WRAP
#define LEVELS 5

static struct sample samples[MAX_SAMPLES];

static void with_view(const char *name, struct image *image, CUDA_TEXTURE_DESC texture,
                      const CUDA_RESOURCE_VIEW_DESC *view, const char *kernel, unsigned count,
                      unsigned components)
{
    CUDA_RESOURCE_DESC resource = image_resource(image);
    CUtexObject object = texture_make(name, &resource, &texture, view);

    sample_line(name, kernel, object, samples, count, components);
    if (object)
        cuTexObjectDestroy(object);
}

static void one(const char *name, struct image *image, CUDA_TEXTURE_DESC texture,
                const char *kernel, unsigned count, unsigned components)
{
    with_view(name, image, texture, NULL, kernel, count, components);
}

static CUDA_TEXTURE_DESC mip_sampler(CUfilter_mode filter, CUfilter_mode between, float bias,
                                     float least, float most)
{
    CUDA_TEXTURE_DESC t = sampler(WRAP, filter, NORMALIZED);

    t.mipmapFilterMode = between;
    t.mipmapLevelBias = bias;
    t.minMipmapLevelClamp = least;
    t.maxMipmapLevelClamp = most;
    return t;
}

// Every texel of a level has the level's number, so the result shows which levels are mixed, and
// how.
static bool make_numbered(struct image *image, unsigned width, unsigned height)
{
    if (!image_make_mipmap("levels", image, "f32x1", width, height, 0, 0, LEVELS))
        return false;
    for (unsigned level = 0; level < LEVELS; level++) {
        float texels[32 * 32];

        for (unsigned i = 0; i < COUNT(texels); i++)
            texels[i] = (float)level;
        image_put("levels", image, level, texels);
    }
    return true;
}

static void levels(void)
{
    struct image image;

    if (!make_numbered(&image, 16, 16))
        return;
    for (unsigned i = 0; i < 500; i++)
        samples[i] = (struct sample){.x = 0.3f, .y = 0.6f, .level = -1.0f + (float)i / 71.0f};
    for (unsigned k = 0; k < 4; k++) {
        const char *how = k & 1 ? "linear" : "point";

        one(label("levels %s %u", how, k >> 1), &image,
            mip_sampler(k >> 1 ? LINEAR : POINT, (CUfilter_mode)(k & 1), 0, 0, 10), "f_2d_level",
            500, 1);
        one(label("levels %s bias %u", how, k >> 1), &image,
            mip_sampler(k >> 1 ? LINEAR : POINT, (CUfilter_mode)(k & 1), 0.71f, 0, 10),
            "f_2d_level", 250, 1);
        one(label("levels %s clamp %u", how, k >> 1), &image,
            mip_sampler(k >> 1 ? LINEAR : POINT, (CUfilter_mode)(k & 1), -0.3f, 0.77f, 2.38f),
            "f_2d_level", 500, 1);
        one(label("levels %s implicit %u", how, k >> 1), &image,
            mip_sampler(k >> 1 ? LINEAR : POINT, (CUfilter_mode)(k & 1), 1.3f, 0, 10), "f_2d", 8,
            1);
    }
    one("levels clamp reversed", &image, mip_sampler(LINEAR, LINEAR, 0, 3, 1), "f_2d_level", 500,
        1);
    one("levels clamp negative", &image, mip_sampler(LINEAR, LINEAR, 0, -2, 1), "f_2d_level", 500,
        1);
    one("levels bias large", &image, mip_sampler(LINEAR, LINEAR, 40, 0, 10), "f_2d_level", 20, 1);
    one("levels bias small", &image, mip_sampler(LINEAR, LINEAR, -40, 0, 10), "f_2d_level", 500, 1);
    image_free(&image);
    if (!image_make_mipmap("levels random", &image, "f32x1", 13, 6, 0, 0, 4))
        return;
    for (unsigned level = 0; level < 4; level++)
        image_put_random("levels random", &image, level, 30 + level);
    uint64_t seed = 8;
    for (unsigned i = 0; i < 256; i++)
        samples[i] = (struct sample){.x = random_unit(&seed) * 3 - 1,
                                     .y = random_unit(&seed) * 3 - 1,
                                     .level = random_unit(&seed) * 4};
    for (unsigned k = 0; k < 4; k++)
        one(label("levels random %u", k), &image,
            mip_sampler((CUfilter_mode)(k & 1), (CUfilter_mode)(k >> 1), 0, 0, 10), "f_2d_level",
            256, 1);
    for (unsigned i = 0; i < 40; i++)
        samples[i] = (struct sample){.x = (float)(i % 7) - 1,
                                     .y = (float)(i % 3),
                                     .level = (float)(i % 6) - 1};
    CUDA_TEXTURE_DESC texels = sampler(CLAMP, POINT, 0);
    texels.maxMipmapLevelClamp = 10;
    one("levels texels", &image, texels, "f_2d_texel_level", 40, 1);
    image_free(&image);
}

static void level_shapes(void)
{
    struct image image;
    uint64_t seed = 18;

    for (unsigned i = 0; i < 128; i++)
        samples[i] = (struct sample){.x = random_unit(&seed) * 2 - 1,
                                     .y = random_unit(&seed) * 2 - 1,
                                     .z = random_unit(&seed) * 2 - 1,
                                     .layer = (float)(i % 4),
                                     .level = random_unit(&seed) * 4};
    if (image_make_mipmap("levels 1d", &image, "u8x4", 9, 0, 0, 0, 4)) {
        for (unsigned level = 0; level < 4; level++)
            image_put_random("levels 1d", &image, level, 40 + level);
        one("levels 1d", &image, mip_sampler(LINEAR, LINEAR, 0, 0, 9), "f_1d_level", 128, 4);
        image_free(&image);
    }
    if (image_make_mipmap("levels 3d", &image, "f16x2", 9, 7, 5, 0, 4)) {
        for (unsigned level = 0; level < 4; level++)
            image_put_random("levels 3d", &image, level, 50 + level);
        one("levels 3d", &image, mip_sampler(LINEAR, LINEAR, 0, 0, 9), "f_3d_level", 128, 2);
        image_free(&image);
    }
    if (image_make_mipmap("levels a2d", &image, "f32x1", 9, 7, 3, CUDA_ARRAY3D_LAYERED, 4)) {
        for (unsigned level = 0; level < 4; level++)
            image_put_random("levels a2d", &image, level, 60 + level);
        one("levels a2d", &image, mip_sampler(LINEAR, LINEAR, 0, 0, 9), "f_a2d_level", 128, 1);
        image_free(&image);
    }
    if (image_make_mipmap("levels cube", &image, "f32x1", 8, 8, 6, CUDA_ARRAY3D_CUBEMAP, 4)) {
        for (unsigned level = 0; level < 4; level++)
            image_put_random("levels cube", &image, level, 70 + level);
        for (unsigned seamless = 0; seamless < 2; seamless++) {
            CUDA_TEXTURE_DESC t = mip_sampler(LINEAR, LINEAR, 0, 0, 9);

            t.flags |= seamless ? CU_TRSF_SEAMLESS_CUBEMAP : 0;
            one(label("levels cube %u", seamless), &image, t, "f_cube_level", 128, 1);
        }
        image_free(&image);
    }
}

static void derivatives(void)
{
    struct image image;
    uint64_t seed = 3;

    if (!make_numbered(&image, 32, 32))
        return;
    for (unsigned i = 0; i < 400; i++)
        samples[i] = (struct sample){.x = 0.3f, .y = 0.6f, .dx = {exp2f((float)i / 50.0f - 6)}};
    one("derivatives along x", &image, mip_sampler(LINEAR, LINEAR, 0, 0, 10), "f_2d_grad", 400, 1);
    one("derivatives along x point", &image, mip_sampler(LINEAR, POINT, 0, 0, 10), "f_2d_grad", 400,
        1);
    for (unsigned i = 0; i < 400; i++)
        samples[i] = (struct sample){.x = 0.3f, .y = 0.6f, .dy = {0, exp2f((float)i / 50.0f - 6)}};
    one("derivatives along y", &image, mip_sampler(LINEAR, LINEAR, 0, 0, 10), "f_2d_grad", 100, 1);
    for (unsigned i = 0; i < 300; i++) {
        samples[i] = (struct sample){.x = 0.3f, .y = 0.6f};
        samples[i].dx[0] = (random_unit(&seed) - 0.5f) * exp2f(random_unit(&seed) * -5);
        samples[i].dx[1] = (random_unit(&seed) - 0.5f) * exp2f(random_unit(&seed) * -5);
        samples[i].dy[0] = (random_unit(&seed) - 0.5f) * exp2f(random_unit(&seed) * -5);
        samples[i].dy[1] = (random_unit(&seed) - 0.5f) * exp2f(random_unit(&seed) * -5);
    }
    for (unsigned aniso = 0; aniso <= 16; aniso = aniso ? aniso * 2 : 1) {
        CUDA_TEXTURE_DESC t = mip_sampler(LINEAR, LINEAR, 0, 0, 10);

        t.maxAnisotropy = aniso;
        one(label("derivatives any %u", aniso), &image, t, "f_2d_grad", 300, 1);
        t.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
        one(label("derivatives any %u exact", aniso), &image, t, "f_2d_grad", 300, 1);
    }
    one("derivatives unfiltered", &image, mip_sampler(POINT, LINEAR, 0, 0, 10), "f_2d_grad", 300,
        1);
    image_free(&image);
    if (!make_numbered(&image, 32, 8))
        return;
    one("derivatives oblong", &image, mip_sampler(LINEAR, LINEAR, 0, 0, 10), "f_2d_grad", 300, 1);
    image_free(&image);
}

static void anisotropy(void)
{
    struct image image;
    uint64_t seed = 13;

    if (!image_make_mipmap("anisotropy", &image, "f32x1", 32, 32, 0, 0, LEVELS))
        return;
    for (unsigned level = 0; level < LEVELS; level++) {
        float texels[32 * 32];

        for (unsigned i = 0; i < COUNT(texels); i++) // equal rows: only the mix along x shows
            texels[i] = ldexpf(1.0f, (int)(i % (32u >> level)) - 16) * (float)(level + 1);
        image_put("anisotropy", &image, level, texels);
    }
    for (unsigned i = 0; i < 200; i++)
        samples[i] = (struct sample){.x = random_unit(&seed),
                                     .y = random_unit(&seed),
                                     .dx = {0.3f * random_unit(&seed)},
                                     .dy = {0, 0.05f * random_unit(&seed)}};
    for (unsigned aniso = 1; aniso <= 16; aniso *= 2) {
        CUDA_TEXTURE_DESC t = mip_sampler(LINEAR, LINEAR, 0, 0, 10);

        t.maxAnisotropy = aniso;
        one(label("anisotropy %u", aniso), &image, t, "f_2d_grad", 200, 1);
        one(label("anisotropy level %u", aniso), &image, t, "f_2d_level", 4, 1);
    }
    image_free(&image);
}

static void cubes(void)
{
    struct image image;
    uint64_t seed = 23;
    unsigned n = 0;

    for (int x = -1; x <= 1; x++)
        for (int y = -1; y <= 1; y++)
            for (int z = -1; z <= 1; z++)
                samples[n++] = (struct sample){.x = (float)x, .y = (float)y, .z = (float)z};
    for (unsigned k = 0; k < 9; k++)
        samples[n++] = (struct sample){.x = k % 3 ? 0.0f : -0.0f,
                                       .y = k / 3 ? 1e-40f : -1e30f,
                                       .z = k == 8 ? NAN : 1e-38f};
    while (n < 512)
        samples[n++] = (struct sample){.x = random_unit(&seed) * 2 - 1,
                                       .y = random_unit(&seed) * 2 - 1,
                                       .z = random_unit(&seed) * 2 - 1,
                                       .layer = (float)(n % 5) - 1};
    if (image_make("cube", &image, "f32x1", 4, 4, 6, CUDA_ARRAY3D_CUBEMAP)) {
        float texels[96];

        for (unsigned i = 0; i < 96; i++)
            texels[i] = (float)(i / 16 * 100 + i % 16);
        image_put("cube", &image, 0, texels);
        one("cube point", &image, sampler(CLAMP, POINT, NORMALIZED), "f_cube", n, 1);
        one("cube point texels", &image, sampler(CLAMP, POINT, 0), "f_cube", n, 1);
        one("cube point wrap", &image, sampler(WRAP, POINT, NORMALIZED), "f_cube", n, 1);
        for (unsigned mode = 0; mode < 4; mode++) {
            CUDA_TEXTURE_DESC t = sampler((CUaddress_mode)mode, LINEAR, NORMALIZED);

            one(label("cube linear %u", mode), &image, t, "f_cube", n, 1);
            t.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
            one(label("cube seamless %u", mode), &image, t, "f_cube", n, 1);
        }
        image_free(&image);
    }
    if (image_make("cube u8", &image, "u8x4", 5, 5, 6, CUDA_ARRAY3D_CUBEMAP)) {
        CUDA_TEXTURE_DESC t = sampler(CLAMP, LINEAR, NORMALIZED | CU_TRSF_SEAMLESS_CUBEMAP);

        image_put_random("cube u8", &image, 0, 6);
        one("cube seamless u8", &image, t, "f_cube", n, 4);
        image_free(&image);
    }
    if (image_make("acube", &image, "f32x1", 4, 4, 18,
                   CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED)) {
        image_put_random("acube", &image, 0, 7);
        one("acube point", &image, sampler(CLAMP, POINT, NORMALIZED), "f_acube", n, 1);
        one("acube linear", &image, sampler(CLAMP, LINEAR, NORMALIZED), "f_acube", 256, 1);
        image_free(&image);
    }
}

static void layers(void)
{
    struct image image;

    for (unsigned i = 0; i < 80; i++)
        samples[i] = (struct sample){.x = (float)(i % 11) * 0.5f - 0.25f,
                                     .y = (float)(i % 7) * 0.5f,
                                     .layer = (float)(i % 6) - 1};
    samples[78].layer = 70000;
    samples[79].layer = -70000;
    if (image_make("a1d", &image, "f32x1", 5, 0, 4, CUDA_ARRAY3D_LAYERED)) {
        image_put_random("a1d", &image, 0, 1);
        one("a1d point", &image, sampler(CLAMP, POINT, 0), "f_a1d", 80, 1);
        one("a1d linear", &image, sampler(CLAMP, LINEAR, 0), "f_a1d", 80, 1);
        one("a1d border", &image, sampler(CU_TR_ADDRESS_MODE_BORDER, LINEAR, 0), "f_a1d", 80, 1);
        image_free(&image);
    }
    if (image_make("a2d", &image, "s16x2", 5, 3, 4, CUDA_ARRAY3D_LAYERED)) {
        image_put_random("a2d", &image, 0, 2);
        one("a2d point", &image, sampler(CLAMP, POINT, 0), "f_a2d", 80, 2);
        one("a2d linear", &image, sampler(CLAMP, LINEAR, 0), "f_a2d", 80, 2);
        one("a2d integer", &image, sampler(CLAMP, POINT, CU_TRSF_READ_AS_INTEGER), "u_a2d", 80, 4);
        image_free(&image);
    }
}

static void gathers(void)
{
    static const char *const names[] = {"u8x4", "f32x4", "f32x1", "s16x2", "u32x4"};
    struct image image;

    for (unsigned i = 0; i < 96; i++)
        samples[i] = (struct sample){.x = -1 + (float)i * 0.0859375f,
                                     .y = -1 + (float)(i * 5 % 64) * 0.078125f};
    samples[90] = (struct sample){.x = 2.0f - 1.0f / 512, .y = 1.5f};
    samples[91] = (struct sample){.x = 2.0f - 1.0f / 1024, .y = 1.5f};
    samples[92] = (struct sample){.x = 1.5f - 1.0f / 512, .y = 1.5f};
    samples[93] = (struct sample){.x = 1.5f - 1.0f / 1024, .y = 1.5f};
    samples[94] = (struct sample){.x = 1.5f - 1.0f / 2048, .y = 1.5f};
    samples[95] = (struct sample){.x = 1.5f, .y = 1.5f};
    for (size_t f = 0; f < COUNT(names); f++) {
        if (!image_make(names[f], &image, names[f], 5, 3, 0, CUDA_ARRAY3D_TEXTURE_GATHER))
            continue;
        image_put_random(names[f], &image, 0, 5);
        for (unsigned k = 0; k < 4; k++)
            one(label("gather %s %u", names[f], k), &image, sampler(CLAMP, POINT, 0),
                label("f_gather%u", k), 96, 4);
        one(label("gather %s linear", names[f]), &image, sampler(CLAMP, LINEAR, 0), "f_gather0", 96,
            4);
        one(label("gather %s wrap", names[f]), &image, sampler(WRAP, POINT, NORMALIZED),
            "f_gather0", 96, 4);
        one(label("gather %s border", names[f]), &image,
            sampler(CU_TR_ADDRESS_MODE_BORDER, POINT, 0), "f_gather1", 96, 4);
        one(label("gather %s integer", names[f]), &image,
            sampler(CLAMP, POINT, CU_TRSF_READ_AS_INTEGER), "u_gather0", 96, 4);
        one(label("gather %s offset", names[f]), &image, sampler(CLAMP, POINT, 0),
            "f_gather_offset", 96, 4);
        image_free(&image);
    }
    if (!image_make("offset", &image, "f32x1", 5, 3, 0, 0))
        return;
    image_put_random("offset", &image, 0, 5);
    one("gather without flag", &image, sampler(CLAMP, POINT, 0), "f_gather0", 96, 4);
    one("offset point", &image, sampler(CLAMP, POINT, 0), "f_2d_offset", 96, 1);
    one("offset linear", &image, sampler(CLAMP, LINEAR, 0), "f_2d_offset", 96, 1);
    one("offset wrap", &image, sampler(WRAP, LINEAR, NORMALIZED), "f_2d_offset", 96, 1);
    one("resident", &image, sampler(CLAMP, LINEAR, 0), "f_2d_resident", 96, 4);
    one("texels", &image, sampler(CLAMP, LINEAR, 0), "f_2d_texel", 96, 1);
    one("texels border", &image, sampler(CU_TR_ADDRESS_MODE_BORDER, POINT, 0), "f_2d_texel", 96, 1);
    image_free(&image);
}

static void linear_memory(void)
{
    static const char *const names[] = {"u8x1",  "s16x2", "f16x2",   "f32x1",
                                        "f32x4", "u32x1", "unorm8x4"};
    CUdeviceptr memory;
    uint32_t words[256];
    uint64_t seed = 2;

    if (cuMemAlloc(&memory, 4096))
        return;
    for (unsigned i = 0; i < 256; i++)
        words[i] = random_word(&seed) & 0xbfffbfff;
    cuMemcpyHtoD(memory, words, sizeof words);
    for (size_t f = 0; f < COUNT(names); f++) {
        const struct texel_format *format = format_named(names[f]);
        CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};
        r.res.linear.devPtr = memory;
        r.res.linear.format = format->format;
        r.res.linear.numChannels = format->channels;
        r.res.linear.sizeInBytes = 20 * format->bytes * format->channels + (f & 1);
        for (unsigned i = 0; i < 32; i++)
            samples[i] = (struct sample){.x = (float)i - 4};
        samples[30].x = 1e9f;
        for (unsigned k = 0; k < 4; k++) {
            CUDA_TEXTURE_DESC t = sampler((CUaddress_mode)k, POINT, k & 2 ? NORMALIZED : 0);
            CUtexObject object = texture_make(label("linear %s %u", names[f], k), &r, &t, NULL);
            sample_line(label("linear %s %u", names[f], k), "f_fetch", object, samples, 32, 4);
            if (object)
                cuTexObjectDestroy(object);
        }
        CUDA_TEXTURE_DESC t = sampler(CLAMP, POINT, CU_TRSF_READ_AS_INTEGER);
        CUtexObject object = texture_make(label("linear %s integer", names[f]), &r, &t, NULL);
        sample_line(label("linear %s integer", names[f]), "u_fetch", object, samples, 32, 4);
        sample_line(label("linear %s as float coordinates", names[f]), "f_1d", object, samples, 32,
                    4);
    }
}

static void pitched_memory(void)
{
    static const char *const names[] = {"u8x1", "s16x2", "f32x1", "f32x4", "u8x4"};
    CUdeviceptr memory;
    uint32_t words[1024];
    uint64_t seed = 2;

    if (cuMemAlloc(&memory, 4096))
        return;
    for (unsigned i = 0; i < 1024; i++)
        words[i] = random_word(&seed) & 0xbfffbfff;
    cuMemcpyHtoD(memory, words, sizeof words);
    for (size_t f = 0; f < COUNT(names); f++) {
        const struct texel_format *format = format_named(names[f]);
        CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_PITCH2D};
        r.res.pitch2D.devPtr = memory;
        r.res.pitch2D.format = format->format;
        r.res.pitch2D.numChannels = format->channels;
        r.res.pitch2D.width = 7;
        r.res.pitch2D.height = 5;
        r.res.pitch2D.pitchInBytes = 256;
        for (unsigned i = 0; i < 96; i++)
            samples[i] = (struct sample){.x = -2 + (float)i * 0.1171875f,
                                         .y = -1 + (float)(i * 5 % 64) * 0.109375f};
        for (unsigned k = 0; k < 8; k++) {
            CUDA_TEXTURE_DESC t = sampler((CUaddress_mode)(k & 3), (CUfilter_mode)(k >> 2), 0);
            CUtexObject object = texture_make(label("pitched %s %u", names[f], k), &r, &t, NULL);
            sample_line(label("pitched %s %u", names[f], k), "f_2d", object, samples, 96,
                        format->channels);
            if (object)
                cuTexObjectDestroy(object);
        }
        CUDA_TEXTURE_DESC t = sampler(WRAP, LINEAR, NORMALIZED);
        CUtexObject object = texture_make(label("pitched %s normalized", names[f]), &r, &t, NULL);
        sample_line(label("pitched %s normalized", names[f]), "f_2d", object, samples, 96,
                    format->channels);
    }
}

static void views(void)
{
    static const char *const names[] = {"u8x4",  "u32x1", "u32x2", "u32x4",
                                        "f32x1", "u16x4", "f16x2", "u8x1"};
    struct image image;

    for (unsigned i = 0; i < 24; i++)
        samples[i] = (struct sample){.x = (float)i * 0.0717f,
                                     .y = (float)(i * 5 % 24) * 0.081f,
                                     .layer = (float)(i % 5),
                                     .level = (float)i * 0.25f};
    for (size_t f = 0; f < COUNT(names); f++) {
        if (!image_make(names[f], &image, names[f], 8, 8, 0, 0))
            continue;
        image_put_random(names[f], &image, 0, 5);
        for (unsigned format = 0; format < 36; format++) {
            unsigned block = format >= 25 ? 4 : 1;
            CUDA_RESOURCE_VIEW_DESC v = {.format = (CUresourceViewFormat)format,
                                         .width = 8 * block,
                                         .height = 8 * block};

            with_view(label("view %s as %u", names[f], format), &image,
                      sampler(CLAMP, POINT, NORMALIZED), &v, "f_2d", 24, 4);
        }
        image_free(&image);
    }
    if (image_make_mipmap("view levels", &image, "f32x1", 16, 8, 4, CUDA_ARRAY3D_LAYERED, 4)) {
        for (unsigned level = 0; level < 4; level++)
            image_put_random("view levels", &image, level, 80 + level);
        for (unsigned k = 0; k < 12; k++) {
            CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                         .width = 16,
                                         .height = 8,
                                         .depth = 4,
                                         .firstMipmapLevel = k & 3,
                                         .lastMipmapLevel = 3,
                                         .firstLayer = k >> 2,
                                         .lastLayer = 3 - (k >> 3)};

            with_view(label("view levels %u", k), &image, mip_sampler(POINT, POINT, 0, 0, 10), &v,
                      "f_a2d_level", 24, 1);
            v.width >>= k & 3;
            v.height >>= k & 3;
            v.depth = v.lastLayer - v.firstLayer + 1;
            with_view(label("view levels shrunk %u", k), &image,
                      mip_sampler(POINT, POINT, 0, 0, 10), &v, "f_a2d_level", 24, 1);
            CUDA_TEXTURE_DESC t = mip_sampler(LINEAR, LINEAR, 0.25f, 0.5f, 1.75f);
            with_view(label("view levels clamped %u", k), &image, t, &v, "f_a2d_level", 24, 1);
        }
        image_free(&image);
    }
}

const struct section shape_sections[] = {
    {"levels", levels},
    {"level-shapes", level_shapes},
    {"derivatives", derivatives},
    {"anisotropy", anisotropy},
    {"cubes", cubes},
    {"layers", layers},
    {"gathers", gathers},
    {"linear", linear_memory},
    {"pitched", pitched_memory},
    {"views", views},
    {NULL, NULL},
};
