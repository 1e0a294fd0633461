// SPDX-License-Identifier: BSD-3-Clause
// Bytes of texels. Only for files of this folder.
//
// A raw texel is four numbers as they are stored: integers, sign-extended, or bits of 32-bit
// floats. Missing channels are 0. Filters compute with raw texels; texel_words converts the result
// to the words that a kernel gets.
#ifndef SIM_TEXTURE_TEXEL_H
#define SIM_TEXTURE_TEXEL_H

#include "sim/texture/texture.h"

static inline bool texel_is_integer(const struct texel_kind *kind)
{
    return kind->kind == CHANNEL_UNSIGNED || kind->kind == CHANNEL_SIGNED;
}

// Returns true if the channel is filtered with the precision of 16-bit floats: half floats and
// sRGB.
bool texel_is_half(const struct texel_kind *kind, unsigned channel);
// Returns true if the channel's raw form is the bits of a float.
bool texel_is_float(const struct texel_kind *kind, unsigned channel);

void texel_load_raw(const struct texel_kind *kind, const char *at, int32_t raw[4]);
// Converts a border colour to a raw texel of that kind.
void texel_border_raw(const struct texel_kind *kind, const float colour[4], int32_t raw[4]);
// Converts a raw texel to the words of a kernel.
void texel_words(const struct texel_kind *kind, const int32_t raw[4], uint32_t value[4]);

// A texel of a weighted sum, its weight in 256ths, and the part of the sum that it belongs to. All
// weights add up to 256.
struct weighted_texel {
    int32_t raw[4];
    int32_t weight;
    unsigned part;
};
void texel_mix(const struct texel_kind *kind, const struct weighted_texel *texels, unsigned count,
               unsigned parts, uint32_t value[4]);

#endif
