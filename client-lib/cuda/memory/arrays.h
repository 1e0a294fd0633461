// SPDX-License-Identifier: BSD-3-Clause
// CUDA arrays and mipmapped arrays. If the answer to a query follows from the creation of the
// array, no request is sent. Any thread may call.
#ifndef RGPU_CLIENT_ARRAYS_H
#define RGPU_CLIENT_ARRAYS_H

#include "client-lib/cuda/objects/object.h"

// Create an array, or a mipmapped array of LEVELS levels, in the current context.
CUresult array_make(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult mipmap_make(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                     unsigned int levels);
// Destroy an array or a mipmapped array, with the handles of its levels and planes.
CUresult array_drop(CUarray array);
CUresult mipmap_drop(CUmipmappedArray mipmap);

// Returns the descriptor with which ARRAY was created, or that of its level or plane.
CUresult array_describe(CUarray array, CUDA_ARRAY3D_DESCRIPTOR *out);
// Find the array of a level or of a plane. Each call returns the same handle, which the whole array
// owns.
CUresult mipmap_level(CUmipmappedArray mipmap, unsigned int level, CUarray *out);
CUresult array_plane(CUarray array, unsigned int plane, CUarray *out);

// Returns CUDA_ERROR_INVALID_VALUE unless a copy of EXTENT (bytes, rows, slices) at offset AT (the
// same units) lies within the array. *OBJECT becomes the array's object.
CUresult array_holds(CUarray array, const size_t at[3], const size_t extent[3],
                     struct object **object);
// Returns the bytes of a texel; of a block of texels if the format is compressed.
size_t array_element_bytes(const struct object *array);

#endif
