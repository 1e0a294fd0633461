// SPDX-License-Identifier: BSD-3-Clause
// Memory of sparse arrays, which the program maps tile by tile (CUDA_ARRAY3D_SPARSE). The texels of
// the array have memory of their own, as in other arrays. A mapped tile has a second copy in the
// physical memory; both copies are kept equal, so physical memory that is mapped to several tiles
// has the same content in all of them. Unmapped tiles read as zeros; writes to them are lost.
//
// A unit is the smallest mapping: one tile of a level or, for each layer, all levels smaller than a
// tile (the tail).
#ifndef SIM_ARRAY_TILES_H
#define SIM_ARRAY_TILES_H

#include "sim/array/array_storage.h"

#define ARRAY_TILE_BYTES ((size_t)64 << 10)

struct sim_physical;

// Return the extents of a tile in texels, and the first level that is smaller than a tile.
void array_tile_extents(const struct array_storage *storage, unsigned tile[3]);
unsigned array_first_of_tail(const struct array_storage *storage);
// Returns the bytes of one layer's tail, in whole tiles.
size_t array_tail_bytes(const struct array_storage *storage);

// Creates the tiles of new storage; none of them is mapped. Returns OUT_OF_MEMORY.
CUresult array_tiles_create(struct array_storage *storage);
void array_tiles_destroy(struct array_storage *storage);

// A range of units: tiles of one level, or the tail of one layer.
struct array_units {
    bool tail;
    unsigned part, layer;
    unsigned first[3], count[3]; // in tiles
};
size_t array_units_bytes(const struct array_storage *storage, const struct array_units *units);
// Maps the units to PHYSICAL, starting at byte OFFSET; unmaps them if PHYSICAL is NULL.
void array_units_map(struct array_storage *storage, const struct array_units *units,
                     struct sim_physical *physical, size_t offset);

// Copies rows that were written to the physical memory of their tiles. ADDRESS is in the written
// part of the array.
void array_tiles_written(struct array_storage *storage, uint64_t address, size_t first_row,
                         size_t rows, size_t first_slice, size_t slices);

#endif
