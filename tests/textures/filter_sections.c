// SPDX-License-Identifier: BSD-3-Clause
// Sections of the recorder: weights, arithmetic, addressing, formats, borders.
#include "tests/textures/sampling.h"

#define LINEAR CU_TR_FILTER_MODE_LINEAR
#define POINT CU_TR_FILTER_MODE_POINT
#define NORMALIZED CU_TRSF_NORMALIZED_COORDINATES
#define CLAMP CU_TR_ADDRESS_MODE_CLAMP

static struct sample samples[MAX_SAMPLES];
static const char *const mode_names[] = {"wrap", "clamp", "mirror", "border"};
static const char *const filter_names[] = {"point", "linear"};
static const char *const dimension_kernels[] = {"", "f_1d", "f_2d", "f_3d"};

static void one(const char *name, struct image *image, CUDA_TEXTURE_DESC texture,
                const char *kernel, unsigned count, unsigned components)
{
    CUDA_RESOURCE_DESC resource = image_resource(image);
    CUtexObject object = texture_make(name, &resource, &texture, NULL);

    sample_line(name, kernel, object, samples, count, components);
    if (object)
        cuTexObjectDestroy(object);
}

// Records how a coordinate becomes weights: the texels differ by one, so the result is the weight.
static void weights(void)
{
    static const unsigned widths[] = {4, 5, 37, 1000, 16384};
    struct image image;

    for (size_t k = 0; k < COUNT(widths); k++) {
        float *texels = malloc(4 * widths[k]);

        for (unsigned i = 0; i < widths[k]; i++)
            texels[i] = (float)(i & 1);
        if (!image_make("weights", &image, "f32x1", widths[k], 0, 0, 0))
            continue;
        image_put("weights", &image, 0, texels);
        for (unsigned i = 0; i < 1025; i++)
            samples[i] = (struct sample){.x = 1.5f + (float)i / 1024.0f};
        one(label("weights fine %u", widths[k]), &image, sampler(CLAMP, LINEAR, 0), "f_1d",
            k ? 260 : 1025, 1);
        for (unsigned i = 0; i < 300; i++)
            samples[i] = (struct sample){.x = (1.5f + (float)i / 293.0f) / (float)widths[k]};
        one(label("weights normalized %u", widths[k]), &image, sampler(CLAMP, LINEAR, NORMALIZED),
            "f_1d", 300, 1);
        uint64_t seed = 5;
        for (unsigned i = 0; i < 200; i++)
            samples[i] = (struct sample){.x = (random_unit(&seed) + random_unit(&seed) / 65536.0f) *
                                              (float)widths[k]};
        one(label("weights anywhere %u", widths[k]), &image, sampler(CLAMP, LINEAR, 0), "f_1d", 200,
            1);
        image_free(&image);
        free(texels);
    }
}

static void random_grid(unsigned count, float width, float height, float depth)
{
    uint64_t seed = 77;

    for (unsigned i = 0; i < count; i++) {
        samples[i] = (struct sample){0};
        samples[i].x = floorf(random_unit(&seed) * width * 256) / 256;
        samples[i].y = floorf(random_unit(&seed) * height * 256) / 256;
        samples[i].z = floorf(random_unit(&seed) * depth * 256) / 256;
    }
}

static void put_wide(const char *name, struct image *image)
{
    size_t n = image_bytes(image, 0) / 4;
    float *texels = malloc(4 * n);
    uint64_t seed = 9;

    for (size_t i = 0; i < n; i++)
        texels[i] = ldexpf((float)(int32_t)random_word(&seed) / 2147483648.0f,
                           (int)(random_word(&seed) % 40) - 20);
    image_put(name, image, 0, texels);
    free(texels);
}

// The sums of weighted texels, on coordinates whose weights are exact.
static void arithmetic(void)
{
    static const char *const formats[] = {"f32x1", "f16x1", "u8x1",  "u16x1",   "s8x1",
                                          "s16x1", "u8x4",  "f32x4", "unorm8x1"};
    struct image image;

    for (unsigned dims = 1; dims <= 3; dims++) {
        random_grid(192, 8, 8, 8);
        for (size_t f = 0; f < COUNT(formats); f++) {
            const char *name = label("arithmetic %ud %s", dims, formats[f]);

            if (!image_make(name, &image, formats[f], 8, dims > 1 ? 8 : 0, dims > 2 ? 8 : 0, 0))
                continue;
            image_put_random(name, &image, 0, 3 + f);
            one(name, &image, sampler(CLAMP, LINEAR, 0), dimension_kernels[dims], 192,
                image.format->channels);
            image_free(&image);
        }
        if (!image_make("wide", &image, "f32x1", 8, dims > 1 ? 8 : 0, dims > 2 ? 8 : 0, 0))
            continue;
        put_wide("wide", &image);
        one(label("arithmetic %ud wide", dims), &image, sampler(CLAMP, LINEAR, 0),
            dimension_kernels[dims], 192, 1);
        image_free(&image);
    }
}

// Numbers that are none, too large, or too small to be normal.
static void specials(void)
{
    static const uint32_t texels[] = {0x7f800000, 0x3f800000, 0x7fc12345, 0xbf800000,
                                      0x80000000, 0x00000001, 0x007fffff, 0x7f7fffff,
                                      0x7f7fffff, 0xff800000, 0x00800000, 0x00800001,
                                      0x7f812345, 0x00000000, 0xff7fffff, 0x80000001};
    static const uint16_t halves[] = {0x7c00, 0x3c00, 0x7e12, 0xbc00, 0x8000, 0x0001,
                                      0x03ff, 0x7bff, 0x7bff, 0xfc00, 0x0400, 0x0401,
                                      0x7d12, 0x0000, 0xfbff, 0x8001};
    struct image image;

    for (unsigned i = 0; i < 128; i++)
        samples[i] = (struct sample){.x = 0.5f + (float)i / 8, .y = 0.5f};
    if (image_make("specials f32", &image, "f32x1", 16, 0, 0, 0)) {
        image_put("specials f32", &image, 0, texels);
        one("specials f32 point", &image, sampler(CLAMP, POINT, 0), "f_1d", 128, 1);
        one("specials f32 linear", &image, sampler(CLAMP, LINEAR, 0), "f_1d", 128, 1);
        image_free(&image);
    }
    if (image_make("specials f32 2d", &image, "f32x1", 16, 1, 0, 0)) {
        image_put("specials f32 2d", &image, 0, texels);
        one("specials f32 2d linear", &image, sampler(CLAMP, LINEAR, 0), "f_2d", 128, 1);
        image_free(&image);
    }
    if (image_make("specials f16", &image, "f16x1", 16, 0, 0, 0)) {
        image_put("specials f16", &image, 0, halves);
        one("specials f16 point", &image, sampler(CLAMP, POINT, 0), "f_1d", 128, 1);
        one("specials f16 linear", &image, sampler(CLAMP, LINEAR, 0), "f_1d", 128, 1);
        image_free(&image);
    }
}

static void address_one(struct image *image, unsigned dims, unsigned mode, unsigned filter,
                        unsigned normalized)
{
    CUDA_TEXTURE_DESC t =
        sampler((CUaddress_mode)mode, (CUfilter_mode)filter, normalized ? NORMALIZED : 0);
    unsigned count = dims == 1 ? 120 : 100;

    for (unsigned i = 0; i < count; i++) {
        float along = -12.0f + (float)i * 0.25f, across = 9.0f - (float)(i * 7 % 73) * 0.25f;

        samples[i] = (struct sample){.x = along, .y = across, .z = across * 0.5f + 0.125f};
        if (normalized) {
            samples[i].x /= (float)image->width;
            samples[i].y /= (float)(image->height ? image->height : 1);
            samples[i].z /= (float)(image->depth ? image->depth : 1);
        }
    }
    t.borderColor[0] = 1000.5f;
    one(label("address %ud %u %s %s %s", dims, image->width, mode_names[mode], filter_names[filter],
              normalized ? "normalized" : "texels"),
        image, t, dimension_kernels[dims], count, 1);
}

static void addressing(void)
{
    static const unsigned widths[] = {1, 4, 5, 6};
    struct image image;

    for (unsigned dims = 1; dims <= 3; dims++)
        for (size_t w = 0; w < COUNT(widths); w++) {
            float texels[6 * 3 * 2];

            for (unsigned i = 0; i < COUNT(texels); i++)
                texels[i] = (float)(i + 1);
            if (!image_make("address", &image, "f32x1", widths[w], dims > 1 ? 3 : 0,
                            dims > 2 ? 2 : 0, 0))
                continue;
            image_put("address", &image, 0, texels);
            for (unsigned k = 0; k < 16; k++)
                address_one(&image, dims, k & 3, k >> 2 & 1, k >> 3);
            image_free(&image);
        }
}

// Different modes in each direction.
static void mixed_modes(void)
{
    struct image image;

    if (!image_make("mixed", &image, "f32x1", 5, 3, 0, 0))
        return;
    image_put_random("mixed", &image, 0, 4);
    for (unsigned i = 0; i < 60; i++)
        samples[i] = (struct sample){.x = -1.6f + (float)i * 0.07f, .y = 1.9f - (float)i * 0.063f};
    for (unsigned k = 0; k < 16; k++) {
        CUDA_TEXTURE_DESC t = sampler((CUaddress_mode)(k & 3), LINEAR, NORMALIZED);

        t.addressMode[1] = (CUaddress_mode)(k >> 2);
        t.borderColor[0] = -3;
        one(label("mixed %s %s", mode_names[k & 3], mode_names[k >> 2]), &image, t, "f_2d", 60, 1);
    }
    image_free(&image);
}

static void extremes(void)
{
    static const float far[] = {
        1e3f,        -1e3f,       1e6f,       -1e6f,       1.5e9f,      -1.5e9f,
        1e20f,       -1e20f,      INFINITY,   -INFINITY,   NAN,         2147483648.0f,
        1e-30f,      -1e-30f,     -0.0f,      0.99999994f, 1.0f,        -5.9604645e-8f,
        32768.5f,    65535.5f,    65536.25f,  131072.25f,  8388607.5f,  -8388607.5f,
        4194303.75f, 16777215.0f, 4.9999995f, 0.49999997f, 0.50000006f, 4.5f};
    static const float texels[] = {1, 2, 3, 4, 5};
    struct image image;

    if (!image_make("extremes", &image, "f32x1", 5, 0, 0, 0))
        return;
    image_put("extremes", &image, 0, texels);
    for (unsigned i = 0; i < COUNT(far); i++)
        samples[i] = (struct sample){.x = far[i]};
    for (unsigned k = 0; k < 16; k++)
        one(label("extremes %s %s %s", mode_names[k & 3], filter_names[k >> 2 & 1],
                  k >> 3 ? "normalized" : "texels"),
            &image,
            sampler((CUaddress_mode)(k & 3), (CUfilter_mode)(k >> 2 & 1), k >> 3 ? NORMALIZED : 0),
            "f_1d", COUNT(far), 1);
    image_free(&image);
}

static void formats(void)
{
    struct image image;

    for (const struct texel_format *f = plain_formats; f->name; f++) {
        if (!image_make(label("format %s", f->name), &image, f->name, 16, 2, 0, 0))
            continue;
        image_put_random(f->name, &image, 0, 11);
        for (unsigned i = 0; i < 33; i++)
            samples[i] =
                (struct sample){.x = 0.5f + (float)i * 0.5f, .y = 0.5f + (float)(i % 5) / 4};
        for (unsigned filter = 0; filter < 2; filter++) {
            one(label("format %s %s", f->name, filter_names[filter]), &image,
                sampler(CLAMP, (CUfilter_mode)filter, 0), "f_2d", 33, 4);
            one(label("format %s %s integer", f->name, filter_names[filter]), &image,
                sampler(CLAMP, (CUfilter_mode)filter, CU_TRSF_READ_AS_INTEGER), "u_2d", 33, 4);
        }
        one(label("format %s half", f->name), &image, sampler(CLAMP, POINT, 0), "u_2d_half", 33, 4);
        image_free(&image);
    }
}

// All values of bytes and some of words as floats.
static void conversions(void)
{
    static const char *const names[] = {"u8x1", "s8x1", "u16x1", "s16x1", "f16x1"};
    struct image image;

    for (size_t f = 0; f < COUNT(names); f++) {
        uint16_t wide[256];
        uint8_t narrow[256];

        for (unsigned i = 0; i < 256; i++) {
            narrow[i] = (uint8_t)i;
            wide[i] = (uint16_t)(i * 257 + (i & 1 ? 0 : i * 7));
            samples[i] = (struct sample){.x = (float)i + 0.5f};
        }
        if (!image_make(names[f], &image, names[f], 256, 1, 0, 0))
            continue;
        image_put(names[f], &image, 0, image.format->bytes == 1 ? (void *)narrow : (void *)wide);
        one(label("conversion %s", names[f]), &image, sampler(CLAMP, POINT, 0), "f_2d", 256, 1);
        one(label("conversion %s half", names[f]), &image, sampler(CLAMP, POINT, 0), "u_2d_half",
            256, 1);
        image_free(&image);
    }
}

static void srgb(void)
{
    static const char *const names[] = {"u8x1", "u8x4", "u8x2", "unorm8x4", "s8x4", "f32x4"};
    struct image image;

    for (size_t f = 0; f < COUNT(names); f++) {
        uint8_t texels[256 * 16] = {0};

        if (!image_make("srgb", &image, names[f], 256, 0, 0, 0))
            continue;
        unsigned bytes = image.format->bytes * image.format->channels;
        for (unsigned i = 0; i < 256; i++)
            for (unsigned k = 0; k < bytes && bytes <= 4; k++)
                texels[i * bytes + k] = (uint8_t)(i + k * 64);
        image_put("srgb", &image, 0, texels);
        for (unsigned i = 0; i < 256; i++)
            samples[i] = (struct sample){.x = (float)i + 0.5f};
        one(label("srgb %s point", names[f]), &image, sampler(CLAMP, POINT, CU_TRSF_SRGB), "f_1d",
            256, 4);
        for (unsigned i = 0; i < 128; i++)
            samples[i].x = (float)i * 2.03125f;
        one(label("srgb %s linear", names[f]), &image, sampler(CLAMP, LINEAR, CU_TRSF_SRGB), "f_1d",
            128, 4);
        image_free(&image);
    }
}

static void borders(void)
{
    static const float colours[][4] = {{0.25f, -0.5f, 2, 1000.0f},
                                       {1, 0, 0, 0},
                                       {3.4f, 200.9f, 1e9f, -1e9f}};
    struct image image;

    for (const struct texel_format *f = plain_formats; f->name; f++)
        for (unsigned k = 0; k < COUNT(colours) * 2; k++) {
            unsigned colour = k >> 1, filter = k & 1;
            CUDA_TEXTURE_DESC t = sampler(CU_TR_ADDRESS_MODE_BORDER, (CUfilter_mode)filter, 0);
            bool integer = f->integer && !filter;

            if (!image_make("border", &image, f->name, 2, 0, 0, 0))
                continue;
            image_put_random("border", &image, 0, 21);
            memcpy(t.borderColor, colours[colour], sizeof t.borderColor);
            for (unsigned i = 0; i < 9; i++)
                samples[i] = (struct sample){.x = -0.75f + (float)i * 0.4375f};
            one(label("border %s %s %u", f->name, filter_names[filter], colour), &image, t, "f_1d",
                9, 4);
            t.flags |= CU_TRSF_READ_AS_INTEGER;
            if (integer)
                one(label("border %s integer %u", f->name, colour), &image, t, "u_1d", 9, 4);
            image_free(&image);
        }
}

const struct section filter_sections[] = {
    {"weights", weights},   {"arithmetic", arithmetic},
    {"specials", specials}, {"addressing", addressing},
    {"mixed", mixed_modes}, {"extremes", extremes},
    {"formats", formats},   {"conversions", conversions},
    {"srgb", srgb},         {"borders", borders},
    {NULL, NULL},
};
