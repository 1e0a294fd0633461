// SPDX-License-Identifier: BSD-3-Clause
// Arrays and mipmapped arrays: what the program asks of them is answered here, as far as it follows from how they
// were made. Any thread may call.
#ifndef RGPU_CLIENT_ARRAYS_H
#define RGPU_CLIENT_ARRAYS_H

#include "client-lib/objects/object.h"

CUresult array_make(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult mipmap_make(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                     unsigned int levels);
CUresult array_drop(CUarray array);
CUresult mipmap_drop(CUmipmappedArray mipmap);

CUresult array_describe(CUarray array, CUDA_ARRAY3D_DESCRIPTOR *out);
// The array of a level, or of a plane: the same one whenever it is asked for.
CUresult mipmap_level(CUmipmappedArray mipmap, unsigned int level, CUarray *out);
CUresult array_plane(CUarray array, unsigned int plane, CUarray *out);

// Whether a copy of WIDTH bytes, HEIGHT rows and DEPTH slices lies within the array at X bytes, row Y and slice Z, and
// which session has it. INVALID_VALUE.
CUresult array_holds(CUarray array, const size_t at[3], const size_t extent[3],
                     struct object **object);
// Bytes of a texel, or of a block of texels.
size_t array_element_bytes(const struct object *array);

#endif
