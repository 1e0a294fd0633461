// SPDX-License-Identifier: BSD-3-Clause
// Converts texels between bytes and the words that kernels see.
#include "sim/texture/texel.h"

#include <math.h>
#include <string.h>

#include "sim/ptx/alu/small_float.h"

// Linear values of sRGB bytes in 16384ths, as on an H100.
static const uint16_t linear_of_srgb[256] = {
    0,     5,     10,    15,    20,    25,    30,    35,    40,    45,    50,    55,    60,
    66,    72,    78,    85,    92,    99,    107,   115,   123,   131,   140,   150,   159,
    169,   180,   190,   201,   213,   224,   236,   250,   262,   276,   290,   304,   318,
    332,   348,   364,   380,   396,   412,   430,   448,   466,   484,   504,   524,   544,
    564,   584,   604,   624,   648,   672,   692,   716,   740,   764,   788,   816,   840,
    864,   896,   920,   944,   976,   1000,  1032,  1064,  1088,  1120,  1152,  1184,  1216,
    1248,  1280,  1312,  1352,  1384,  1416,  1456,  1488,  1528,  1560,  1600,  1640,  1672,
    1712,  1752,  1792,  1832,  1872,  1920,  1952,  2000,  2048,  2080,  2128,  2176,  2224,
    2272,  2320,  2368,  2416,  2464,  2512,  2560,  2608,  2656,  2704,  2752,  2816,  2864,
    2912,  2976,  3024,  3072,  3136,  3184,  3248,  3296,  3360,  3424,  3472,  3536,  3600,
    3664,  3712,  3776,  3840,  3904,  3968,  4032,  4096,  4160,  4224,  4288,  4352,  4416,
    4512,  4576,  4640,  4704,  4768,  4864,  4928,  4992,  5056,  5152,  5216,  5280,  5376,
    5440,  5536,  5600,  5696,  5760,  5824,  5920,  6016,  6080,  6176,  6240,  6336,  6400,
    6496,  6592,  6688,  6752,  6848,  6944,  7008,  7104,  7200,  7296,  7392,  7488,  7584,
    7680,  7744,  7872,  7936,  8064,  8128,  8256,  8320,  8448,  8512,  8640,  8768,  8832,
    8960,  9024,  9152,  9280,  9344,  9472,  9600,  9664,  9792,  9920,  9984,  10112, 10240,
    10304, 10432, 10560, 10688, 10816, 10880, 11008, 11136, 11264, 11392, 11456, 11584, 11712,
    11840, 11968, 12096, 12224, 12352, 12480, 12608, 12736, 12864, 12992, 13120, 13248, 13376,
    13504, 13632, 13760, 13888, 14016, 14144, 14272, 14400, 14528, 14656, 14848, 14976, 15104,
    15232, 15360, 15488, 15616, 15744, 16000, 16128, 16256, 16384,
};

bool texel_is_half(const struct texel_kind *kind, unsigned channel)
{
    if (kind->kind == CHANNEL_UNORM)
        return kind->srgb && kind->channel_bytes == 1 && channel < (kind->channels == 4 ? 3 : 1);
    return kind->kind == CHANNEL_FLOAT && kind->channel_bytes == 2;
}

bool texel_is_float(const struct texel_kind *kind, unsigned channel)
{
    return kind->kind == CHANNEL_FLOAT || texel_is_half(kind, channel);
}

static int32_t sign_extended(uint32_t bits, unsigned bytes)
{
    unsigned rest = 32 - 8 * bytes;

    return (int32_t)(bits << rest) >> rest;
}

static int32_t signed_most(const struct texel_kind *kind)
{
    return kind->channel_bytes == 1 ? 127 : 32767;
}

static int32_t raw_of_bits(const struct texel_kind *kind, uint32_t bits, unsigned channel)
{
    int32_t value = sign_extended(bits, kind->channel_bytes);

    if (texel_is_half(kind, channel) && kind->kind == CHANNEL_UNORM)
        return (int32_t)float_bits((float)linear_of_srgb[bits] / 16384);
    switch (kind->kind) {
    case CHANNEL_UNSIGNED:
    case CHANNEL_UNORM: return (int32_t)bits;
    case CHANNEL_SIGNED: return value;
    case CHANNEL_SNORM: return value < -signed_most(kind) ? -signed_most(kind) : value;
    case CHANNEL_FLOAT: break;
    }
    return kind->channel_bytes == 2 ? (int32_t)float_bits(half_float((uint16_t)bits)) : value;
}

void texel_load_raw(const struct texel_kind *kind, const char *at, int32_t raw[4])
{
    memset(raw, 0, 4 * sizeof(*raw));
    for (unsigned i = 0; i < kind->channels; i++) {
        uint32_t bits = 0;

        // little-endian, as on a GPU
        memcpy(&bits, at + i * kind->channel_bytes, kind->channel_bytes);
        raw[i] = raw_of_bits(kind, bits, i);
    }
}

static uint32_t word_of_raw(const struct texel_kind *kind, int32_t raw, unsigned channel)
{
    if (texel_is_integer(kind) || texel_is_float(kind, channel))
        return (uint32_t)raw;
    if (kind->kind == CHANNEL_SNORM)
        return float_bits((float)((double)raw / signed_most(kind)));
    return float_bits((float)((double)raw / (kind->channel_bytes == 1 ? 255 : 65535)));
}

void texel_words(const struct texel_kind *kind, const int32_t raw[4], uint32_t value[4])
{
    for (unsigned i = 0; i < 4; i++)
        value[i] = word_of_raw(kind, raw[i], i);
}

// Rounds a float to an integer from `least` to `most`, halves towards zero. NaN becomes 0.
static int32_t whole(float value, int32_t least, int32_t most)
{
    double scaled = (double)value * most;

    scaled = scaled < 0 ? floor(scaled + 0.5) : ceil(scaled - 0.5);

    if (value != value)
        return 0;
    return scaled <= least ? least : scaled >= most ? most : (int32_t)scaled;
}

// Converts a float to half precision by truncation.
static float cut_to_half(float value)
{
    uint32_t bits = float_bits(value);

    if (value != value)
        return value;
    return half_float(small_encode(bits_float(bits), 10, ROUND_RZ));
}

void texel_border_raw(const struct texel_kind *kind, const float colour[4], int32_t raw[4])
{
    memset(raw, 0, 4 * sizeof(*raw));
    for (unsigned i = 0; i < kind->channels; i++) {
        int32_t bits = (int32_t)float_bits(colour[i]);

        if (texel_is_half(kind, i))
            raw[i] = (int32_t)float_bits(cut_to_half(colour[i]));
        else if (kind->kind == CHANNEL_FLOAT)
            raw[i] = bits;
        else if (kind->kind == CHANNEL_UNORM)
            raw[i] = whole(colour[i], 0, kind->channel_bytes == 1 ? 255 : 65535);
        else if (kind->kind == CHANNEL_SNORM)
            raw[i] = whole(colour[i], -signed_most(kind), signed_most(kind));
        else if (kind->channel_bytes == 4)
            raw[i] = bits;
        else if (kind->kind == CHANNEL_SIGNED)
            raw[i] = sign_extended((uint32_t)bits, kind->channel_bytes);
        else
            raw[i] = bits & (kind->channel_bytes == 1 ? 0xFF : 0xFFFF);
    }
}

static uint32_t narrowed_integer(const struct texel_kind *kind, uint32_t word)
{
    unsigned bits = 8 * kind->channel_bytes;

    if (bits == 32)
        return word;
    if (kind->kind == CHANNEL_UNSIGNED)
        return word >> bits ? (1u << bits) - 1 : word;
    int32_t value = (int32_t)word, most = (1 << (bits - 1)) - 1;
    return (uint32_t)(value > most ? most : value < -most - 1 ? -most - 1 : value);
}

static uint32_t narrowed(const struct texel_kind *kind, uint32_t word)
{
    switch (kind->kind) {
    case CHANNEL_UNSIGNED:
    case CHANNEL_SIGNED: return narrowed_integer(kind, word);
    case CHANNEL_UNORM:
        return (uint32_t)whole(bits_float(word), 0, kind->channel_bytes == 1 ? 255 : 65535);
    case CHANNEL_SNORM:
        return (uint32_t)whole(bits_float(word), -signed_most(kind), signed_most(kind));
    case CHANNEL_FLOAT: break;
    }
    if (kind->channel_bytes == 4)
        return word;
    if (bits_float(word) != bits_float(word))
        return (word >> 16 & 0x8000) | 0x7c00 | (word >> 13 & 0x3ff);
    return small_encode((double)bits_float(word), 10, ROUND_RZ);
}

void texel_store(const struct texel_kind *kind, char *at, const uint32_t value[4])
{
    for (unsigned i = 0; i < kind->channels; i++) {
        uint32_t bits = narrowed(kind, value[i]);

        memcpy(at + i * kind->channel_bytes, &bits, kind->channel_bytes);
    }
}
