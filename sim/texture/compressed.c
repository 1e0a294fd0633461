// SPDX-License-Identifier: BSD-3-Clause
// Decodes BC1 to BC5 and selects the decoder. Interpolated values are those of an H100, which
// differ from exact division.
#include "sim/texture/compressed.h"

#include <string.h>

struct colour_end {
    int32_t red, green, blue; // 5, 6 and 5 bits
};

static struct colour_end end_of(unsigned bits)
{
    return (struct colour_end){bits >> 11, bits >> 5 & 63, bits & 31};
}

static int32_t five_to_eight(int32_t value)
{
    return value << 3 | value >> 2;
}

static int32_t six_to_eight(int32_t value)
{
    return value << 2 | value >> 4;
}

static int32_t third_of_five(int32_t near, int32_t far)
{
    return (2 * near + far) * 22 >> 3;
}

// Interpolates towards `far` by a number of 256ths.
static int32_t on_the_way(int32_t near, int32_t far, int32_t part)
{
    int32_t step = far - near;
    return (256 * near + (step >> 2) + 128 + step * part) >> 8;
}

static void colour_at_end(const struct colour_end *end, int32_t raw[4])
{
    raw[0] = five_to_eight(end->red);
    raw[1] = six_to_eight(end->green);
    raw[2] = five_to_eight(end->blue);
}

// Returns a colour of a block with four colours; two lie a third of the way from an endpoint.
static void colour_of_four(const struct colour_end ends[2], unsigned index, int32_t raw[4])
{
    const struct colour_end *near = &ends[index & 1], *far = &ends[~index & 1];
    int32_t green = six_to_eight(near->green), other = six_to_eight(far->green);

    if (index < 2) {
        colour_at_end(near, raw);
        return;
    }
    raw[0] = third_of_five(near->red, far->red);
    raw[1] = on_the_way(green, other, 80);
    raw[2] = third_of_five(near->blue, far->blue);
}

// Returns a colour of a block with three colours: an endpoint, the middle, or transparent black.
static void colour_of_three(const struct colour_end ends[2], unsigned index, int32_t raw[4])
{
    if (index < 2) {
        colour_at_end(&ends[index], raw);
        return;
    }
    if (index == 3) {
        memset(raw, 0, 4 * sizeof(*raw));
        return;
    }
    raw[0] = (ends[0].red + ends[1].red) * 33 >> 3;
    raw[1] = on_the_way(six_to_eight(ends[0].green), six_to_eight(ends[1].green), 128);
    raw[2] = (ends[0].blue + ends[1].blue) * 33 >> 3;
}

static void load_colour(const uint8_t *at, unsigned place, bool always_four, int32_t raw[4])
{
    unsigned first = at[0] | at[1] << 8, second = at[2] | at[3] << 8;
    struct colour_end ends[2] = {end_of(first), end_of(second)};
    unsigned index = at[4 + place / 4] >> 2 * (place % 4) & 3;

    raw[3] = 255;
    if (always_four || first > second)
        colour_of_four(ends, index, raw);
    else
        colour_of_three(ends, index, raw);
}

// Returns the weight of the second endpoint for an index, in 257ths, or in 129ths with a sign,
// where endpoints have one bit less.
static int32_t part_of_second(unsigned index, bool eight, bool with_sign)
{
    static const uint8_t of_eight[2][8] = {{0, 0, 36, 72, 113, 144, 185, 221},
                                           {0, 0, 18, 36, 57, 72, 93, 111}};
    static const uint8_t of_six[2][6] = {{0, 0, 48, 96, 161, 209}, {0, 0, 24, 48, 81, 105}};

    if (index == 1)
        return with_sign ? 129 : 257;
    return eight ? of_eight[with_sign][index] : of_six[with_sign][index];
}

// Loads one channel in 65535ths, or in 32767ths with a sign.
static int32_t load_channel(const uint8_t *at, unsigned place, bool with_sign)
{
    struct compressed_bits bits = {at, 16 + 3 * place};
    unsigned index = compressed_take(&bits, 3);
    int32_t first = with_sign ? (int8_t)at[0] : at[0], second = with_sign ? (int8_t)at[1] : at[1];
    int32_t least = with_sign ? -127 : 0, whole = with_sign ? 129 : 257;

    first = first < least ? least : first;
    second = second < least ? least : second;
    if (first <= second && index >= 6)
        return index == 7 ? (with_sign ? 32767 : 65535) : (with_sign ? -32767 : 0);
    int32_t part = part_of_second(index, first > second, with_sign);
    int32_t sum = first * (whole - part) + second * part;
    if (!with_sign)
        return sum;
    double exact = (double)sum * 32767 / (127 * 129);
    return (int32_t)(exact < 0 ? exact - 0.5 : exact + 0.5);
}

static int32_t compressed_to_eight_bits(int32_t in_65535ths)
{
    return (in_65535ths + 128) / 257;
}

void compressed_load_raw(enum texel_compression compression, const uint8_t *at, unsigned place,
                         int32_t raw[4])
{
    memset(raw, 0, 4 * sizeof(*raw));
    switch (compression) {
    case COMPRESSION_NONE: return;
    case COMPRESSION_BC1: load_colour(at, place, false, raw); return;
    case COMPRESSION_BC2:
        load_colour(at + 8, place, true, raw);
        raw[3] = (at[place / 2] >> 4 * (place % 2) & 15) * 17;
        return;
    case COMPRESSION_BC3:
        load_colour(at + 8, place, true, raw);
        raw[3] = compressed_to_eight_bits(load_channel(at, place, false));
        return;
    case COMPRESSION_BC4:
    case COMPRESSION_BC4_SIGNED:
        raw[0] = load_channel(at, place, compression == COMPRESSION_BC4_SIGNED);
        return;
    case COMPRESSION_BC5:
    case COMPRESSION_BC5_SIGNED:
        raw[0] = load_channel(at, place, compression == COMPRESSION_BC5_SIGNED);
        raw[1] = load_channel(at + 8, place, compression == COMPRESSION_BC5_SIGNED);
        return;
    case COMPRESSION_BC6H:
    case COMPRESSION_BC6H_SIGNED:
        bc6h_load(at, place, compression == COMPRESSION_BC6H_SIGNED, raw);
        return;
    case COMPRESSION_BC7: bc7_load(at, place, raw); return;
    }
}
