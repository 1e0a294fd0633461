// SPDX-License-Identifier: BSD-3-Clause
// Formats of arrays: bytes of a texel, and the number of levels of a mipmapped array.
#ifndef RGPU_COMMON_ARRAY_ELEMENT_H
#define RGPU_COMMON_ARRAY_ELEMENT_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct array_element {
    unsigned bytes; // bytes of a texel or, for compressed formats, of a block
    unsigned block; // texels of a block in x and in y: 4 for compressed formats, else 1
};

// Finds the element of a format with this number of channels. Returns false if arrays do not
// support it.
bool array_element_find(CUarray_format format, unsigned channels, struct array_element *out);

// Returns true if the depth counts layers or faces of cubes.
static inline bool array_is_layered(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    return descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

// Returns the maximum number of mipmap levels, down to a single texel.
unsigned array_levels_max(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
// Returns the descriptor of a level of a mipmapped array.
CUDA_ARRAY3D_DESCRIPTOR array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned level);

#endif
