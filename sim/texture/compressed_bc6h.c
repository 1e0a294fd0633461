// SPDX-License-Identifier: BSD-3-Clause
// Decodes BC6H: 16-bit floats of three channels. Most modes store endpoints as differences from the
// first.
#include "sim/texture/compressed.h"

#include <string.h>

#include "sim/ptx/alu/small_float.h"

// A field of endpoint bits: endpoint, channel, lowest bit, number of bits. `turned`: highest bit
// first.
struct bc6h_field {
    uint8_t end, channel, low, count;
    bool turned;
};

struct bc6h_mode {
    uint8_t code, code_bits;
    uint8_t subsets, first_bits; // of the first endpoint
    uint8_t bits[3];             // bits of the other endpoints' differences
    bool whole;                  // endpoints are stored whole, not as differences
    struct bc6h_field fields[26];
};

#define R(end, low, count) \
    { \
        end, 0, low, count, false \
    }
#define G(end, low, count) \
    { \
        end, 1, low, count, false \
    }
#define B(end, low, count) \
    { \
        end, 2, low, count, false \
    }
#define TURNED(channel, low, count) \
    { \
        0, channel, low, count, true \
    }
#define TEN R(0, 0, 10), G(0, 0, 10), B(0, 0, 10)

static const struct bc6h_mode modes[] = {
    {0,
     2,
     2,
     10,
     {5, 5, 5},
     false,
     {G(2, 4, 1), B(2, 4, 1), B(3, 4, 1), TEN, R(1, 0, 5), G(3, 4, 1), G(2, 0, 4), G(1, 0, 5),
      B(3, 0, 1), G(3, 0, 4), B(1, 0, 5), B(3, 1, 1), B(2, 0, 4), R(2, 0, 5), B(3, 2, 1),
      R(3, 0, 5), B(3, 3, 1)}},
    {1, 2, 2, 7, {6, 6, 6}, false, {G(2, 5, 1), G(3, 4, 2), R(0, 0, 7), B(3, 0, 2), B(2, 4, 1),
                                    G(0, 0, 7), B(2, 5, 1), B(3, 2, 1), G(2, 4, 1), B(0, 0, 7),
                                    B(3, 3, 1), B(3, 5, 1), B(3, 4, 1), R(1, 0, 6), G(2, 0, 4),
                                    G(1, 0, 6), G(3, 0, 4), B(1, 0, 6), B(2, 0, 4), R(2, 0, 6),
                                    R(3, 0, 6)}},
    {0x02,
     5,
     2,
     11,
     {5, 4, 4},
     false,
     {TEN, R(1, 0, 5), R(0, 10, 1), G(2, 0, 4), G(1, 0, 4), G(0, 10, 1), B(3, 0, 1), G(3, 0, 4),
      B(1, 0, 4), B(0, 10, 1), B(3, 1, 1), B(2, 0, 4), R(2, 0, 5), B(3, 2, 1), R(3, 0, 5),
      B(3, 3, 1)}},
    {0x06,
     5,
     2,
     11,
     {4, 5, 4},
     false,
     {TEN, R(1, 0, 4), R(0, 10, 1), G(3, 4, 1), G(2, 0, 4), G(1, 0, 5), G(0, 10, 1), G(3, 0, 4),
      B(1, 0, 4), B(0, 10, 1), B(3, 1, 1), B(2, 0, 4), R(2, 0, 4), B(3, 0, 1), B(3, 2, 1),
      R(3, 0, 4), G(2, 4, 1), B(3, 3, 1)}},
    {0x0a,
     5,
     2,
     11,
     {4, 4, 5},
     false,
     {TEN, R(1, 0, 4), R(0, 10, 1), B(2, 4, 1), G(2, 0, 4), G(1, 0, 4), G(0, 10, 1), B(3, 0, 1),
      G(3, 0, 4), B(1, 0, 5), B(0, 10, 1), B(2, 0, 4), R(2, 0, 4), B(3, 1, 2), R(3, 0, 4),
      B(3, 4, 1), B(3, 3, 1)}},
    {0x0e,
     5,
     2,
     9,
     {5, 5, 5},
     false,
     {R(0, 0, 9), B(2, 4, 1), G(0, 0, 9), G(2, 4, 1), B(0, 0, 9), B(3, 4, 1), R(1, 0, 5),
      G(3, 4, 1), G(2, 0, 4), G(1, 0, 5), B(3, 0, 1), G(3, 0, 4), B(1, 0, 5), B(3, 1, 1),
      B(2, 0, 4), R(2, 0, 5), B(3, 2, 1), R(3, 0, 5), B(3, 3, 1)}},
    {0x12,
     5,
     2,
     8,
     {6, 5, 5},
     false,
     {R(0, 0, 8), G(3, 4, 1), B(2, 4, 1), G(0, 0, 8), B(3, 2, 1), G(2, 4, 1), B(0, 0, 8),
      B(3, 3, 2), R(1, 0, 6), G(2, 0, 4), G(1, 0, 5), B(3, 0, 1), G(3, 0, 4), B(1, 0, 5),
      B(3, 1, 1), B(2, 0, 4), R(2, 0, 6), R(3, 0, 6)}},
    {0x16, 5, 2, 8, {5, 6, 5}, false, {R(0, 0, 8), B(3, 0, 1), B(2, 4, 1), G(0, 0, 8), G(2, 5, 1),
                                       G(2, 4, 1), B(0, 0, 8), G(3, 5, 1), B(3, 4, 1), R(1, 0, 5),
                                       G(3, 4, 1), G(2, 0, 4), G(1, 0, 6), G(3, 0, 4), B(1, 0, 5),
                                       B(3, 1, 1), B(2, 0, 4), R(2, 0, 5), B(3, 2, 1), R(3, 0, 5),
                                       B(3, 3, 1)}},
    {0x1a, 5, 2, 8, {5, 5, 6}, false, {R(0, 0, 8), B(3, 1, 1), B(2, 4, 1), G(0, 0, 8), B(2, 5, 1),
                                       G(2, 4, 1), B(0, 0, 8), B(3, 5, 1), B(3, 4, 1), R(1, 0, 5),
                                       G(3, 4, 1), G(2, 0, 4), G(1, 0, 5), B(3, 0, 1), G(3, 0, 4),
                                       B(1, 0, 6), B(2, 0, 4), R(2, 0, 5), B(3, 2, 1), R(3, 0, 5),
                                       B(3, 3, 1)}},
    {0x1e, 5, 2, 6, {6, 6, 6}, true, {R(0, 0, 6), G(3, 4, 1), B(3, 0, 2), B(2, 4, 1), G(0, 0, 6),
                                      G(2, 5, 1), B(2, 5, 1), B(3, 2, 1), G(2, 4, 1), B(0, 0, 6),
                                      G(3, 5, 1), B(3, 3, 1), B(3, 5, 1), B(3, 4, 1), R(1, 0, 6),
                                      G(2, 0, 4), G(1, 0, 6), G(3, 0, 4), B(1, 0, 6), B(2, 0, 4),
                                      R(2, 0, 6), R(3, 0, 6)}},
    {0x03, 5, 1, 10, {10, 10, 10}, true, {TEN, R(1, 0, 10), G(1, 0, 10), B(1, 0, 10)}},
    {0x07,
     5,
     1,
     11,
     {9, 9, 9},
     false,
     {TEN, R(1, 0, 9), R(0, 10, 1), G(1, 0, 9), G(0, 10, 1), B(1, 0, 9), B(0, 10, 1)}},
    {0x0b,
     5,
     1,
     12,
     {8, 8, 8},
     false,
     {TEN, R(1, 0, 8), TURNED(0, 10, 2), G(1, 0, 8), TURNED(1, 10, 2), B(1, 0, 8),
      TURNED(2, 10, 2)}},
    {0x0f,
     5,
     1,
     16,
     {4, 4, 4},
     false,
     {TEN, R(1, 0, 4), TURNED(0, 10, 6), G(1, 0, 4), TURNED(1, 10, 6), B(1, 0, 4),
      TURNED(2, 10, 6)}},
};

static const struct bc6h_mode *compressed_bc6h_read_mode(struct compressed_bits *bits)
{
    unsigned code = compressed_take(bits, 2), code_bits = 2;

    if (code > 1) {
        code |= compressed_take(bits, 3) << 2;
        code_bits = 5;
    }
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (modes[i].code == code && modes[i].code_bits == code_bits)
            return &modes[i];
    return NULL;
}

static unsigned turned_bits(unsigned value, unsigned count)
{
    unsigned turned = 0;

    for (unsigned i = 0; i < count; i++)
        turned |= (value >> i & 1) << (count - 1 - i);
    return turned;
}

static int32_t with_sign_of(unsigned value, unsigned bits)
{
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static void read_fields(struct compressed_bits *bits, const struct bc6h_mode *mode,
                        unsigned ends[4][3])
{
    memset(ends, 0, 12 * sizeof(unsigned));
    for (const struct bc6h_field *f = mode->fields; f->count; f++) {
        unsigned value = compressed_take(bits, f->count);
        ends[f->end][f->channel] |= (f->turned ? turned_bits(value, f->count) : value) << f->low;
    }
}

// Returns an endpoint with the bits of the first one. Adds differences and cuts off overflow.
static int32_t end_value(const struct bc6h_mode *mode, unsigned ends[4][3], unsigned end,
                         unsigned channel, bool with_sign)
{
    unsigned value = ends[end][channel];

    if (end && !mode->whole)
        value = (ends[0][channel] + (unsigned)with_sign_of(value, mode->bits[channel])) &
                ((1u << mode->first_bits) - 1);
    return with_sign ? with_sign_of(value, mode->first_bits) : (int32_t)value;
}

// Widens to 17 bits, or to 16 bits with a sign.
static int32_t widened(int32_t value, unsigned bits, bool with_sign)
{
    if (!with_sign) {
        if (bits >= 15 || !value)
            return value;
        return value == (1 << bits) - 1 ? 0xffff : ((value << 16) + 0x8000) >> bits;
    }
    int32_t size = value < 0 ? -value : value;
    if (bits >= 16 || !size)
        return value;
    size = size >= (1 << (bits - 1)) - 1 ? 0x7fff : ((size << 15) + 0x4000) >> (bits - 1);
    return value < 0 ? -size : size;
}

static uint16_t compressed_bc6h_half_of(int32_t value, bool with_sign)
{
    if (!with_sign)
        return (uint16_t)(value * 31 >> 6);
    return value < 0 ? (uint16_t)(0x8000 | (-value * 31 >> 5)) : (uint16_t)(value * 31 >> 5);
}

void bc6h_load(const uint8_t at[16], unsigned place, bool with_sign, int32_t raw[4])
{
    struct compressed_bits bits = {at, 0};
    const struct bc6h_mode *mode = compressed_bc6h_read_mode(&bits);
    unsigned ends[4][3];

    memset(raw, 0, 4 * sizeof(*raw));
    if (!mode)
        return;
    read_fields(&bits, mode, ends);
    unsigned partition = mode->subsets == 2 ? compressed_take(&bits, 5) : 0;
    unsigned subset = compressed_subset(mode->subsets, partition, place);
    unsigned index_bits = mode->subsets == 2 ? 3 : 4;
    int32_t weight = (int32_t)compressed_weight(
        index_bits, compressed_index(at, bits.next, index_bits, mode->subsets, partition, place));

    for (unsigned channel = 0; channel < 3; channel++) {
        int32_t first = end_value(mode, ends, 2 * subset, channel, with_sign);
        int32_t second = end_value(mode, ends, 2 * subset + 1, channel, with_sign);
        first = widened(first, mode->first_bits, with_sign);
        second = widened(second, mode->first_bits, with_sign);
        int32_t value = (first * (64 - weight) + second * weight + 32) >> 6;
        raw[channel] = (int32_t)float_bits(half_float(compressed_bc6h_half_of(value, with_sign)));
    }
}
