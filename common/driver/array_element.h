// SPDX-License-Identifier: BSD-3-Clause
// What the texels of an array are: how many bytes, in blocks of which size; and how many levels of them a
// mipmapped array has.
#ifndef RGPU_COMMON_ARRAY_ELEMENT_H
#define RGPU_COMMON_ARRAY_ELEMENT_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

struct array_element {
    unsigned bytes; // of a texel, or of a block of texels
    unsigned block; // texels of a block in x and in y: 1, or 4 where it is compressed
};

// Of a format that arrays may have with so many channels; false: there are none.
bool array_element_find(CUarray_format format, unsigned channels, struct array_element *out);

// Whether the depth is one of layers or of the faces of cubes.
static inline bool array_is_layered(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    return descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

// Levels down to a single texel.
unsigned array_levels_max(const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
// What a level is as an array of its own.
CUDA_ARRAY3D_DESCRIPTOR array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned level);

#endif
