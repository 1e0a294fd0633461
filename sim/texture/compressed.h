// SPDX-License-Identifier: BSD-3-Clause
// Decodes compressed blocks of four by four texels (BC1 to BC7). Shared by the files of this
// folder.
#ifndef SIM_TEXTURE_COMPRESSED_H
#define SIM_TEXTURE_COMPRESSED_H

#include "sim/texture/texel.h"

static inline unsigned compressed_bytes(enum texel_compression compression)
{
    return compression == COMPRESSION_BC1 || compression == COMPRESSION_BC4 ||
                   compression == COMPRESSION_BC4_SIGNED
               ? 8
               : 16;
}

// Loads a raw texel (texel.h) from the block at AT. `place` is `4 * y + x`.
void compressed_load_raw(enum texel_compression compression, const uint8_t *at, unsigned place,
                         int32_t raw[4]);

// Decode BC7 and BC6H. For BC6H, raw values are the bits of floats.
void bc7_load(const uint8_t at[16], unsigned place, int32_t raw[4]);
void bc6h_load(const uint8_t at[16], unsigned place, bool with_sign, int32_t raw[4]);

// A bit stream, lowest bit first.
struct compressed_bits {
    const uint8_t *at;
    unsigned next;
};
unsigned compressed_take(struct compressed_bits *bits, unsigned count);
// Returns the subset of a texel, in a partition of BC6H or BC7.
unsigned compressed_subset(unsigned subsets, unsigned partition, unsigned place);
// Returns the texel of a subset whose index has one bit less.
unsigned compressed_anchor(unsigned subsets, unsigned partition, unsigned subset);
// Returns the weight of the second endpoint for an index of 2, 3 or 4 bits, in 64ths.
unsigned compressed_weight(unsigned index_bits, unsigned index);
// Returns the index of a texel: `bits` bits, in indices that begin at bit `first`.
unsigned compressed_index(const uint8_t *at, unsigned first, unsigned bits, unsigned subsets,
                          unsigned partition, unsigned place);

#endif
