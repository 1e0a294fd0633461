// SPDX-License-Identifier: BSD-3-Clause
// Which levels of a mipmapped texture a read mixes, and along which line where it is stretched.
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

static float texels_along(const struct texture *t, const float d[3])
{
    const unsigned extents[3] = {t->levels[0].width, t->levels[0].height, t->levels[0].depth};
    float sum = 0;

    for (unsigned i = 0; i < t->dimension; i++) {
        float length = t->normalized ? d[i] * (float)extents[i] : d[i];

        sum += length * length;
    }
    return sqrtf(sum);
}

float level_of_derivatives(const struct texture *t, const struct texture_sample *sample,
                           unsigned *samples, float step[3])
{
    float x = texels_along(t, sample->along_x), y = texels_along(t, sample->along_y);
    const float *longer = x >= y ? sample->along_x : sample->along_y;
    float most = x >= y ? x : y, least = x >= y ? y : x;
    float ratio = least > 0 ? most / least : (float)t->anisotropy;

    if (ratio > (float)t->anisotropy)
        ratio = (float)t->anisotropy;
    *samples = ratio >= 1 ? (unsigned)ceilf(ratio) : 1;
    for (unsigned i = 0; i < 3; i++)
        step[i] = longer[i] / (float)*samples;
    if (!(most > 0))
        return -126;
    return log2f(most / (float)*samples);
}
