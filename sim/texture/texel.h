// SPDX-License-Identifier: BSD-3-Clause
// Texels: what their bytes mean. Shared by the files of this folder.
//
// A raw texel is four numbers as they are stored, sign-extended; of floats, the bits as 32-bit floats. Filters mix
// raw texels, and what comes of it becomes the words that a kernel gets. Channels that texels lack are 0.
#ifndef SIM_TEXTURE_TEXEL_H
#define SIM_TEXTURE_TEXEL_H

#include "sim/texture/texture.h"

static inline bool texel_is_integer(const struct texel_kind *kind)
{
    return kind->kind == CHANNEL_UNSIGNED || kind->kind == CHANNEL_SIGNED;
}

// Whether a channel is filtered as 16-bit floats: those, and colours in sRGB.
bool texel_is_half(const struct texel_kind *kind, unsigned channel);
// Whether its raw form is the bits of a float.
bool texel_is_float(const struct texel_kind *kind, unsigned channel);

void texel_load_raw(const struct texel_kind *kind, const char *at, int32_t raw[4]);
// A border as texels of that kind could hold it.
void texel_border_raw(const struct texel_kind *kind, const float colour[4], int32_t raw[4]);
// The words of a raw texel.
void texel_words(const struct texel_kind *kind, const int32_t raw[4], uint32_t value[4]);

// A texel among those that are mixed, with its weight in 256ths, which together are 1, and the part of the sum that
// it belongs to.
struct weighted_texel {
    int32_t raw[4];
    int32_t weight;
    unsigned part;
};
void texel_mix(const struct texel_kind *kind, const struct weighted_texel *texels, unsigned count,
               unsigned parts, uint32_t value[4]);

#endif
