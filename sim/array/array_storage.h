// SPDX-License-Identifier: BSD-3-Clause
// Memory of arrays, which is memory of the process in rows without gaps. Kernels and calls reach it
// by handle only: the program never gets its address.
//
//   part 0            part 1 ...          a level of a mipmapped array; other arrays have one part
//   [slice][slice]... [slice]...          a layer, a face of a cube, or a step in depth
//   [row][row]...                         a row of texels, or of blocks of a compressed format
//
// Arrays and mipmapped arrays are objects with handles (handle.h). The handles of the levels are
// revoked with their mipmapped array. The memory of an array is valid while the caller has a
// reference.
#ifndef SIM_ARRAY_STORAGE_H
#define SIM_ARRAY_STORAGE_H

#include "common/driver/array_element.h"
#include "sim/engine/context.h"
#include "sim/engine/handle.h"

enum { ARRAY_PARTS_MAX = 18 }; // maximum number of levels of a mipmapped array

struct array_part {
    size_t offset; // bytes from the base
    // Extents in texels, at least 1. An array has either depth or layers; a cube has 6 layers.
    size_t width, height, depth, layers;
    size_t row_bytes, slice_bytes; // bytes from a row to the next, and from a slice to the next
    size_t rows;                   // number of rows in a slice, or rows of blocks
    struct array_element element;
};

struct array_storage {
    atomic_int references;
    struct context *context; // counted reference
    // address; 0: the program has mapped no memory yet (DEFERRED_MAPPING)
    uint64_t base;
    struct array_tiles *tiles; // mappings of a SPARSE array; NULL for other arrays
    size_t size;
    CUDA_ARRAY3D_DESCRIPTOR descriptor; // descriptor, as the program passed it
    unsigned part_count;
    struct array_part parts[ARRAY_PARTS_MAX];
};

struct sim_array {
    struct sim_object object;
    struct array_storage *storage; // counted reference
    unsigned part;
    bool is_level; // a level of a mipmapped array
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
};

struct sim_mipmap {
    struct sim_object object;
    struct array_storage *storage;
    struct sim_array *levels[ARRAY_PARTS_MAX]; // counted references; NULL above the last level
};

// Return the object of a handle with a new reference; the caller calls object_put. Errors:
// INVALID_HANDLE, or CONTEXT_IS_DESTROYED for a destroyed array, as the driver returns.
CUresult array_get(CUarray handle, struct sim_array **out);
CUresult mipmap_get(CUmipmappedArray handle, struct sim_mipmap **out);
// Returns the memory of an array with a new reference; the caller calls array_storage_put. Returns
// INVALID_VALUE if the array does not exist or has no memory mapped.
CUresult array_hold_memory(CUarray handle, struct array_storage **out);

static inline const struct array_part *array_part_of(const struct sim_array *array)
{
    return &array->storage->parts[array->part];
}

// Returns the number of slices of a part: steps in depth or layers.
static inline size_t array_slices(const struct array_part *part)
{
    return part->depth * part->layers;
}

// Returns the address of a texel, or of the block with this texel. `slice` is z, the layer, or 6 *
// cube + face. The coordinates are not checked.
static inline char *array_texel(const struct array_storage *storage, const struct array_part *part,
                                size_t x, size_t y, size_t slice)
{
    return (char *)(uintptr_t)storage->base + part->offset + slice * part->slice_bytes +
           y / part->element.block * part->row_bytes +
           x / part->element.block * part->element.bytes;
}

// Checks the descriptor of an array and computes the layout of its parts. `levels` is the number of
// mipmap levels, reduced to the most that the size allows; 0 for a plain array. Returns
// INVALID_VALUE, or NOT_SUPPORTED for surfaces of compressed formats.
CUresult array_lay_out(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels,
                       struct array_storage *out);

// Allocates device memory for a layout of array_lay_out. *OUT has one reference. Returns
// OUT_OF_MEMORY.
CUresult array_storage_create(struct context *context, const struct array_storage *layout,
                              struct array_storage **out);
void array_storage_hold(struct array_storage *storage);
void array_storage_put(struct array_storage *storage);

#endif
