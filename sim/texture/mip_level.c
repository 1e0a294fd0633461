// SPDX-License-Identifier: BSD-3-Clause
// Selects the levels that a read mixes, and the line along which an anisotropic read samples.
#include "sim/texture/footprint.h"

#include <math.h>

struct level_choice level_choose(const struct texture *t, float level)
{
    float last = (float)(t->level_count - 1), at;
    struct level_choice choice = {.magnified = true};
    int32_t fixed;

    at = level != level ? 0 : level;
    if (at > t->level_most)
        at = t->level_most;
    if (at < t->level_least)
        at = t->level_least;
    choice.magnified = at <= 0;
    at = at < 0 ? 0 : at > last ? last : at;
    if (!t->level_linear) {
        choice.level = (unsigned)(at + 0.5f);
        if (choice.level >= t->level_count)
            choice.level = t->level_count - 1;
        return choice;
    }
    fixed = (int32_t)floorf(at * 256.0f);
    choice.level = (unsigned)(fixed >> 8);
    choice.weight = fixed & 255;
    return choice;
}

// The footprint of a read in texels: an ellipse, the image of a circle on the screen.
struct ellipse {
    float most, least; // half axes
    float along[3];    // direction of the longer axis, in coordinates
};

static void mip_level_in_texels(const struct texture *t, const float d[3], float texels[3])
{
    const unsigned extents[3] = {t->levels[0].width, t->levels[0].height, t->levels[0].depth};

    for (unsigned i = 0; i < 3; i++)
        texels[i] = i >= t->dimension ? 0 : t->normalized ? d[i] * (float)extents[i] : d[i];
}

static float product(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static struct ellipse ellipse_of(const struct texture *t, const struct texture_sample *sample)
{
    float x[3], y[3];
    mip_level_in_texels(t, sample->along_x, x);
    mip_level_in_texels(t, sample->along_y, y);
    float xx = product(x, x), yy = product(y, y), xy = product(x, y);
    float mean = (xx + yy) / 2, apart = hypotf((xx - yy) / 2, xy);
    float turn = atan2f(2 * xy, xx - yy) / 2, cosine = cosf(turn), sine = sinf(turn);
    struct ellipse e = {.most = sqrtf(mean + apart),
                        .least = mean > apart ? sqrtf(mean - apart) : 0};

    for (unsigned i = 0; i < 3; i++)
        e.along[i] = sample->along_x[i] * cosine + sample->along_y[i] * sine;
    return e;
}

// Returns the anisotropy ratio. The limit is rounded down to an even number, and the width is at
// least a texel.
static float ratio_of(const struct texture *t, float most, float least)
{
    float limit = (float)(t->anisotropy < 2 ? 1 : t->anisotropy & ~1u);
    float ratio = most / (least < 1 ? 1 : least);

    return ratio < 1 ? 1 : ratio > limit ? limit : ratio;
}

// Returns the width of the footprint at the selected level, in texels of the first level.
static float width_of(const struct texture *t, float level)
{
    float last = (float)(t->level_count - 1);

    return exp2f(level < 0 ? 0 : level > last ? last : level);
}

float level_of_derivatives(const struct texture *t, const struct texture_sample *sample,
                           struct texture_stretch *stretch)
{
    struct ellipse e = ellipse_of(t, sample);

    stretch->ratio = ratio_of(t, e.most, e.least);
    if (!(e.most > 0))
        return -126;
    float level = log2f(e.most / stretch->ratio);
    for (unsigned i = 0; i < 3; i++)
        stretch->step[i] = e.along[i] / e.most * width_of(t, level);
    return level;
}
