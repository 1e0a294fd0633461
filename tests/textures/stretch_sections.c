// SPDX-License-Identifier: BSD-3-Clause
// The section of the recorder that shows where anisotropic filters read, and with which weights:
// one column of texels is 1, and reads go across it in steps.
#include "tests/textures/sampling.h"

enum { EXTENT = 64, STEPS = 64 };

static void across(struct image *image, unsigned most, float length)
{
    static struct sample samples[STEPS];
    CUDA_TEXTURE_DESC t =
        sampler(CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
    CUDA_RESOURCE_DESC r = image_resource(image);
    float half = most == 16 ? (length > 16 ? 16 : length) / 2 + 3 : 11;
    const char *name = label("footprint %u linear %g", most, length);

    t.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
    t.maxMipmapLevelClamp = 10;
    t.maxAnisotropy = most;
    for (unsigned i = 0; i < STEPS; i++)
        samples[i] = (struct sample){.x = (32.5f + half * (2.0f * (float)i / STEPS - 1)) / EXTENT,
                                     .y = 0.5f + 0.5f / EXTENT,
                                     .dx = {length / EXTENT},
                                     .dy = {0, 1.0f / EXTENT}};
    CUtexObject object = texture_make(name, &r, &t, NULL);
    sample_line(name, "f_2d_grad", object, samples, STEPS, 1);
    if (object)
        cuTexObjectDestroy(object);
}

static void footprints(void)
{
    static const float lengths[] = {1.01f, 1.1f, 1.5f, 1.75f, 2, 2.25f, 3, 3.5f, 5, 7, 8, 16, 20};
    static const unsigned most[] = {2, 3, 4, 6, 8, 12};
    static float texels[EXTENT * EXTENT];
    struct image image;

    if (!image_make("footprints", &image, "f32x1", EXTENT, EXTENT, 0, 0))
        return;
    for (unsigned i = 0; i < COUNT(texels); i++)
        texels[i] = i % EXTENT == 32;
    image_put("footprints", &image, 0, texels);
    for (size_t i = 0; i < COUNT(lengths); i++)
        across(&image, 16, lengths[i]);
    for (size_t i = 0; i < COUNT(most); i++) {
        across(&image, most[i], 3);
        across(&image, most[i], 8);
        across(&image, most[i], 16);
    }
    image_free(&image);
}

const struct section stretch_sections[] = {{"footprints", footprints}, {NULL, NULL}};
