// SPDX-License-Identifier: BSD-3-Clause
// Blocks of four by four texels that are stored compressed (BC1 to BC7). Shared by the files of this folder.
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

// A raw texel (texel.h) of the block at AT; the place is `4 * y + x`.
void compressed_load_raw(enum texel_compression compression, const uint8_t *at, unsigned place,
                         int32_t raw[4]);

// Parts of it. Of BC6H, the bits of floats.
void bc7_load(const uint8_t at[16], unsigned place, int32_t raw[4]);
void bc6h_load(const uint8_t at[16], unsigned place, bool with_sign, int32_t raw[4]);

// A stream of bits, lowest first.
struct compressed_bits {
    const uint8_t *at;
    unsigned next;
};
unsigned compressed_take(struct compressed_bits *bits, unsigned count);
// Which of `subsets` a place is in, in one of the partitions that BC6H and BC7 know.
unsigned compressed_subset(unsigned subsets, unsigned partition, unsigned place);
// The place of a subset whose index has one bit less.
unsigned compressed_anchor(unsigned subsets, unsigned partition, unsigned subset);
// How much of the second end an index of 2, 3 or 4 bits means, in 64ths.
unsigned compressed_weight(unsigned index_bits, unsigned index);
// The index of a place, `bits` of it, where indices begin at bit `first`.
unsigned compressed_index(const uint8_t *at, unsigned first, unsigned bits, unsigned subsets,
                          unsigned partition, unsigned place);

#endif
