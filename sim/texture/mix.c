// SPDX-License-Identifier: BSD-3-Clause
// Weighted sums of texels, bit-exact with an H100 (tests/textures has its results).
//
// Integers are summed exactly and rounded once. Fractions are treated as integers of 16 bits,
// whatever their stored size. Floats are cut to four bits below the last place of the largest
// weighted one, summed exactly, and rounded once, halves away from zero. The planes of a volume and
// the levels are summed as separate parts.
#include "sim/texture/texel.h"

#include <math.h>

#include "sim/ptx/alu/small_float.h"

#define GUARD_BITS 4
#define NOT_A_NUMBER 0x7fffffffu
#define NOT_A_HALF 0x7fffe000u

static double mix_rounded(double value)
{
    return value < 0 ? -floor(0.5 - value) : floor(value + 0.5);
}

static double rounded_up(double value)
{
    return floor(value + 0.5);
}

static uint32_t mix_integers(const struct texel_kind *kind, int64_t sum)
{
    double whole = (double)sum / 256;

    if (kind->channel_bytes == 4)
        return (uint32_t)(sum >> 8); // without rounding

    switch (kind->kind) {
    case CHANNEL_UNORM:
        if (kind->channel_bytes == 1)
            whole *= 257; // to 16 bits
        return float_bits((float)(rounded_up(whole) / 65535));
    case CHANNEL_SNORM:
        if (kind->channel_bytes == 1)
            whole *= 32767.0 / 127;
        return float_bits((float)(rounded_up(whole) / 32767));
    case CHANNEL_UNSIGNED:
    case CHANNEL_SIGNED:
    case CHANNEL_FLOAT: break;
    }
    return (uint32_t)(int64_t)rounded_up(whole);
}

static int exponent_of(uint32_t bits)
{
    int exponent = (int)(bits >> 23 & 255);

    return exponent ? exponent - 127 : -1000; // subnormal numbers count as zero
}

// Converts a float to units of 2 to the power of `unit`, truncated.
static int64_t in_units(uint32_t bits, int unit)
{
    int64_t mantissa = (bits & 0x7fffff) | 0x800000;
    int shift = exponent_of(bits) - 23 - unit;

    if (exponent_of(bits) == -1000 || shift <= -63)
        return 0;
    mantissa = shift >= 0 ? mantissa << shift : mantissa >> -shift;
    return bits >> 31 ? -mantissa : mantissa;
}

// Returns the exact sum of one part's texels in a channel.
static double sum_part(const struct weighted_texel *texels, unsigned count, unsigned channel,
                       unsigned part)
{
    int64_t sum = 0;
    int most = -1000;

    for (unsigned i = 0; i < count; i++)
        if (texels[i].weight && texels[i].part == part &&
            exponent_of((uint32_t)texels[i].raw[channel]) > most)
            most = exponent_of((uint32_t)texels[i].raw[channel]);
    for (unsigned i = 0; i < count; i++)
        if (texels[i].weight && texels[i].part == part)
            sum += texels[i].weight *
                   in_units((uint32_t)texels[i].raw[channel], most - 23 - GUARD_BITS);
    return ldexp((double)sum, most - 23 - GUARD_BITS - 8);
}

// Rounds to a mantissa of `bits` bits, halves away from zero, with steps of at least `least`.
static double round_to(double value, int bits, int least)
{
    int exponent;

    if (value == 0)
        return value;
    frexp(value, &exponent);
    exponent = exponent - bits < least ? least : exponent - bits;
    return ldexp(mix_rounded(ldexp(value, -exponent)), exponent);
}

// Handles infinities and NaN. Returns false if there are none.
static bool mix_specials(const struct weighted_texel *texels, unsigned count, unsigned channel,
                         uint32_t none, uint32_t *out)
{
    bool up = false, down = false, nan = false;

    for (unsigned i = 0; i < count; i++) {
        float value = bits_float((uint32_t)texels[i].raw[channel]);

        if (!texels[i].weight)
            continue;
        nan |= value != value;
        up |= isinf(value) && value > 0;
        down |= isinf(value) && value < 0;
    }
    *out = nan || (up && down) ? none : up ? 0x7f800000u : 0xff800000u;
    return nan || up || down;
}

// Returns a zero, with the sign of the only weighted texel if there is just one.
static uint32_t zero_of(const struct weighted_texel *texels, unsigned count, unsigned channel)
{
    uint32_t sign = 0x80000000u;

    for (unsigned i = 0; i < count; i++)
        if (texels[i].weight)
            sign &= (uint32_t)texels[i].raw[channel];
    return sign;
}

static uint32_t mix_floats(const struct texel_kind *kind, const struct weighted_texel *texels,
                           unsigned count, unsigned parts, unsigned channel)
{
    bool half = texel_is_half(kind, channel);
    uint32_t special;
    double sum = 0;

    if (mix_specials(texels, count, channel, half ? NOT_A_HALF : NOT_A_NUMBER, &special))
        return special;
    for (unsigned part = 0; part < parts; part++)
        sum += sum_part(texels, count, channel, part);
    sum = half ? round_to(sum, 11, -24) : round_to(sum, 24, -149);
    return sum == 0 || fabs(sum) < 0x1p-126 ? zero_of(texels, count, channel)
                                            : float_bits((float)sum);
}

void texel_mix(const struct texel_kind *kind, const struct weighted_texel *texels, unsigned count,
               unsigned parts, uint32_t value[4])
{
    for (unsigned channel = 0; channel < 4; channel++) {
        int64_t sum = 0;

        value[channel] = 0;
        if (channel >= kind->channels)
            continue;
        if (texel_is_float(kind, channel)) {
            value[channel] = mix_floats(kind, texels, count, parts, channel);
            continue;
        }
        for (unsigned i = 0; i < count; i++)
            sum += (int64_t)texels[i].weight * (kind->kind == CHANNEL_UNSIGNED
                                                    ? (int64_t)(uint32_t)texels[i].raw[channel]
                                                    : texels[i].raw[channel]);
        value[channel] = mix_integers(kind, sum);
    }
}
