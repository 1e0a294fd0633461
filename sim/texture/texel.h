// SPDX-License-Identifier: BSD-3-Clause
// Interprets the bytes of texels. Shared by the files of this folder.
//
// A raw texel is four numbers as they are stored, sign-extended; floats are the bits of 32-bit
// floats. Filters mix raw texels, and the result becomes the words that a kernel receives. Missing
// channels are 0.
#ifndef SIM_TEXTURE_TEXEL_H
#define SIM_TEXTURE_TEXEL_H

#include "sim/texture/texture.h"

static inline bool texel_is_integer(const struct texel_kind *kind)
{
    return kind->kind == CHANNEL_UNSIGNED || kind->kind == CHANNEL_SIGNED;
}

// Returns true if a channel is filtered as 16-bit floats: half floats and sRGB colours.
bool texel_is_half(const struct texel_kind *kind, unsigned channel);
// Returns true if the channel's raw form is the bits of a float.
bool texel_is_float(const struct texel_kind *kind, unsigned channel);

void texel_load_raw(const struct texel_kind *kind, const char *at, int32_t raw[4]);
// Converts a border colour to a raw texel of that kind.
void texel_border_raw(const struct texel_kind *kind, const float colour[4], int32_t raw[4]);
// Converts a raw texel to the words of a kernel.
void texel_words(const struct texel_kind *kind, const int32_t raw[4], uint32_t value[4]);

// A texel of a weighted sum, its weight in 256ths (all weights add up to 1), and its part of the
// sum.
struct weighted_texel {
    int32_t raw[4];
    int32_t weight;
    unsigned part;
};
void texel_mix(const struct texel_kind *kind, const struct weighted_texel *texels, unsigned count,
               unsigned parts, uint32_t value[4]);

#endif
