// SPDX-License-Identifier: BSD-3-Clause
// The texels of an array: their bytes and block size, and the number of levels of a mipmapped
// array.
#ifndef RGPU_COMMON_ARRAY_ELEMENT_H
#define RGPU_COMMON_ARRAY_ELEMENT_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct array_element {
    unsigned bytes; // of a texel, or of a block of texels
    unsigned block; // texels of a block in x and in y: 1, or 4 where it is compressed
};

// Finds the element of a format with that many channels. Returns false if arrays have none.
bool array_element_find(CUarray_format format, unsigned channels, struct array_element *out);

// Returns true if the depth counts layers or faces of cubes.
static inline bool array_is_layered(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    return descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

// Levels down to a single texel.
unsigned array_levels_max(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
// Returns the descriptor of a level as an array of its own.
CUDA_ARRAY3D_DESCRIPTOR array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned level);

#endif
