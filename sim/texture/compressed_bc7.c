// SPDX-License-Identifier: BSD-3-Clause
// Decodes BC7: eight modes, each with its own numbers of subsets and bits.
#include <string.h>

#include "sim/texture/compressed.h"

struct bc7_mode {
    uint8_t subsets, partition_bits, rotation_bits, selection_bits;
    uint8_t colour_bits, alpha_bits; // bits of an endpoint
    uint8_t own_low, shared_low;     // a shared lowest bit for each endpoint, or for each subset
    uint8_t index_bits, second_bits;
};

static const struct bc7_mode modes[8] = {
    {3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 0, 2, 0},
    {2, 6, 0, 0, 7, 0, 1, 0, 2, 0}, {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
    {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0},
};

struct bc7_ends {
    unsigned value[6][4]; // two endpoints for each subset
};

static void read_ends(struct compressed_bits *bits, const struct bc7_mode *mode,
                      struct bc7_ends *ends)
{
    for (unsigned channel = 0; channel < 4; channel++)
        for (unsigned end = 0; end < 2u * mode->subsets; end++)
            ends->value[end][channel] =
                compressed_take(bits, channel < 3 ? mode->colour_bits : mode->alpha_bits);
}

static void read_low_bits(struct compressed_bits *bits, const struct bc7_mode *mode,
                          struct bc7_ends *ends)
{
    for (unsigned end = 0, low = 0; end < 2u * mode->subsets; end++) {
        if (mode->own_low || end % 2 == 0)
            low = compressed_take(bits, 1);
        for (unsigned channel = 0; channel < 4; channel++)
            ends->value[end][channel] = ends->value[end][channel] << 1 | low;
    }
}

static unsigned compressed_bc7_to_eight_bits(unsigned value, unsigned bits)
{
    value <<= 8 - bits;
    return value | value >> bits;
}

static void widen(const struct bc7_mode *mode, struct bc7_ends *ends)
{
    unsigned more = mode->own_low || mode->shared_low;

    for (unsigned end = 0; end < 2u * mode->subsets; end++)
        for (unsigned channel = 0; channel < 4; channel++) {
            unsigned bits = channel < 3 ? mode->colour_bits : mode->alpha_bits;
            unsigned *value = &ends->value[end][channel];
            *value = bits ? compressed_bc7_to_eight_bits(*value, bits + more) : 255;
        }
}

static int32_t compressed_bc7_between(const struct bc7_ends *ends, unsigned subset,
                                      unsigned channel, unsigned weight)
{
    return (int32_t)((ends->value[2 * subset][channel] * (64 - weight) +
                      ends->value[2 * subset + 1][channel] * weight + 32) >>
                     6);
}

void bc7_load(const uint8_t at[16], unsigned place, int32_t raw[4])
{
    struct compressed_bits bits = {at, 0};
    struct bc7_ends ends;
    unsigned number = 0;

    while (number < 8 && !compressed_take(&bits, 1))
        number++;
    memset(raw, 0, 4 * sizeof(*raw));
    if (number == 8)
        return;
    const struct bc7_mode *mode = &modes[number];
    unsigned partition = compressed_take(&bits, mode->partition_bits);
    unsigned rotation = compressed_take(&bits, mode->rotation_bits);
    unsigned selection = compressed_take(&bits, mode->selection_bits);
    unsigned subset = compressed_subset(mode->subsets, partition, place);

    read_ends(&bits, mode, &ends);
    if (mode->own_low || mode->shared_low)
        read_low_bits(&bits, mode, &ends);
    widen(mode, &ends);
    unsigned colour =
        compressed_weight(mode->index_bits, compressed_index(at, bits.next, mode->index_bits,
                                                             mode->subsets, partition, place));
    unsigned alpha = colour;
    if (mode->second_bits) {
        unsigned second = bits.next + 16u * mode->index_bits - mode->subsets;
        alpha =
            compressed_weight(mode->second_bits, compressed_index(at, second, mode->second_bits,
                                                                  mode->subsets, partition, place));
    }
    for (unsigned channel = 0; channel < 4; channel++)
        raw[channel] = compressed_bc7_between(&ends, subset, channel,
                                              (channel < 3) == !selection ? colour : alpha);
    if (rotation) {
        int32_t moved = raw[rotation - 1];
        raw[rotation - 1] = raw[3];
        raw[3] = moved;
    }
}
