// SPDX-License-Identifier: BSD-3-Clause
// The memory of arrays. It lies in the process, row after row without gaps, and kernels and calls come to it by
// handles only: none of its addresses is one of the program's.
//
//   part 0            part 1 ...          a level of a mipmapped array; else one part
//   [slice][slice]... [slice]...          a layer, a face of a cube, or a step in depth
//   [row][row]...                         a row of texels, or of blocks of them
//
// Arrays and mipmapped arrays are objects with handles (handle.h); the arrays of levels go with the one that they are
// of. Whoever has looked one up may use its memory until it puts the object.
#ifndef SIM_ARRAY_STORAGE_H
#define SIM_ARRAY_STORAGE_H

#include "common/driver/array_element.h"
#include "sim/context.h"
#include "sim/handle.h"

enum { ARRAY_PARTS_MAX = 18 }; // levels down from the widest array

struct array_part {
    size_t offset; // from the base
    // In texels, at least 1. An array has either depth or layers; a cube has 6 layers.
    size_t width, height, depth, layers;
    size_t row_bytes, slice_bytes; // from one to the next
    size_t rows;                   // of a slice: of blocks where there are such
    struct array_element element;
};

struct array_storage {
    atomic_int references;
    struct context *context;   // counted
    uint64_t base;             // 0: nothing is there yet (DEFERRED_MAPPING)
    struct array_tiles *tiles; // SPARSE: what is mapped to them; NULL
    size_t size;
    CUDA_ARRAY3D_DESCRIPTOR descriptor; // as the program gave it
    unsigned part_count;
    struct array_part parts[ARRAY_PARTS_MAX];
};

struct sim_array {
    struct sim_object object;
    struct array_storage *storage; // counted
    unsigned part;
    bool is_level; // of a mipmapped array
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
};

struct sim_mipmap {
    struct sim_object object;
    struct array_storage *storage;
    struct sim_array *levels[ARRAY_PARTS_MAX]; // counted; NULL: none
};

// By handle, with one more reference, to be put with object_put: INVALID_HANDLE; of one that is gone
// CONTEXT_IS_DESTROYED, as the driver has it.
CUresult array_get(CUarray handle, struct sim_array **out);
CUresult mipmap_get(CUmipmappedArray handle, struct sim_mipmap **out);
// The memory behind an array, with one more reference, to be put with array_storage_put. INVALID_VALUE: no such array,
// or nothing is mapped there.
CUresult array_hold_memory(CUarray handle, struct array_storage **out);

static inline const struct array_part *array_part_of(const struct sim_array *array)
{
    return &array->storage->parts[array->part];
}

// Slices of a part: steps in depth or layers.
static inline size_t array_slices(const struct array_part *part)
{
    return part->depth * part->layers;
}

// Where a texel lies, or the block that it is in. `slice` is z, the layer, or 6 * cube + face. Nothing is checked.
static inline char *array_texel(const struct array_storage *storage, const struct array_part *part,
                                size_t x, size_t y, size_t slice)
{
    return (char *)(uintptr_t)storage->base + part->offset + slice * part->slice_bytes +
           y / part->element.block * part->row_bytes +
           x / part->element.block * part->element.bytes;
}

// Whether a descriptor is one of an array, and how its parts lie. `levels`: as asked of a mipmapped one, which has no
// more than there can be; 0: it is none. INVALID_VALUE; NOT_SUPPORTED for compressed surfaces.
CUresult array_lay_out(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels,
                       struct array_storage *out);

// What a layout of array_lay_out stands for, with memory of the context's device. OUT_OF_MEMORY.
CUresult array_storage_create(struct context *context, const struct array_storage *layout,
                              struct array_storage **out);
void array_storage_hold(struct array_storage *storage);
void array_storage_put(struct array_storage *storage);

#endif
