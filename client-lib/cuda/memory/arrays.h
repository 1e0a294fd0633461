// SPDX-License-Identifier: BSD-3-Clause
// Arrays and mipmapped arrays. Queries are answered here if the answer follows from the creation of
// the array. Any thread may call.
#ifndef RGPU_CLIENT_ARRAYS_H
#define RGPU_CLIENT_ARRAYS_H

#include "client-lib/cuda/objects/object.h"

CUresult array_make(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult mipmap_make(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                     unsigned int levels);
CUresult array_drop(CUarray array);
CUresult mipmap_drop(CUmipmappedArray mipmap);

CUresult array_describe(CUarray array, CUDA_ARRAY3D_DESCRIPTOR *out);
// Finds the array of a level or of a plane. Each call returns the same array.
CUresult mipmap_level(CUmipmappedArray mipmap, unsigned int level, CUarray *out);
CUresult array_plane(CUarray array, unsigned int plane, CUarray *out);

// Returns CUDA_ERROR_INVALID_VALUE unless a copy of EXTENT (bytes, rows, slices) at AT lies within
// the array. *OBJECT becomes the array's object.
CUresult array_holds(CUarray array, const size_t at[3], const size_t extent[3],
                     struct object **object);
// Returns the bytes of a texel, or of a block of texels.
size_t array_element_bytes(const struct object *array);

#endif
