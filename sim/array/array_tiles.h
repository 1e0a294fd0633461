// SPDX-License-Identifier: BSD-3-Clause
// Arrays whose memory is mapped tile by tile (CUDA_ARRAY3D_SPARSE). The texels lie together as those of other arrays;
// what is mapped to a tile is a copy of them in physical memory, which is kept alike: memory that is mapped to several
// tiles is seen in all of them. What is not mapped reads as zeros, and what is written there is lost.
//
// A unit is what is mapped at once: a tile of a level, or, for each layer, all levels that are smaller than tiles (the
// tail).
#ifndef SIM_ARRAY_TILES_H
#define SIM_ARRAY_TILES_H

#include "sim/array/array_storage.h"

#define ARRAY_TILE_BYTES ((size_t)64 << 10)

struct sim_physical;

// Extents of tiles in texels, and the first level that is smaller than one.
void array_tile_extents(const struct array_storage *storage, unsigned tile[3]);
unsigned array_first_of_tail(const struct array_storage *storage);
// Bytes of the tail of one layer, of whole tiles.
size_t array_tail_bytes(const struct array_storage *storage);

// The tiles of new storage, of which none is mapped. OUT_OF_MEMORY.
CUresult array_tiles_create(struct array_storage *storage);
void array_tiles_destroy(struct array_storage *storage);

// Units from one place to another: of a level, tile by tile, or the tail of a layer.
struct array_units {
    bool tail;
    unsigned part, layer;
    unsigned first[3], count[3]; // tiles
};
size_t array_units_bytes(const struct array_storage *storage, const struct array_units *units);
// Maps them to memory from an offset on; NULL: to none.
void array_units_map(struct array_storage *storage, const struct array_units *units,
                     struct sim_physical *physical, size_t offset);

// Rows of slices have been written in the part in which ADDRESS lies.
void array_tiles_written(struct array_storage *storage, uint64_t address, size_t first_row,
                         size_t rows, size_t first_slice, size_t slices);

#endif
