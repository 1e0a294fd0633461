// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys arrays and mipmapped arrays.
#ifndef SIM_ARRAY_OBJECTS_H
#define SIM_ARRAY_OBJECTS_H

#include "sim/array/array_storage.h"

// Creates an array and sets *OUT to its handle. Returns INVALID_VALUE or OUT_OF_MEMORY.
CUresult array_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                      CUarray *out);
// Creates a mipmapped array. LEVELS is the number of levels, from one to the most that the size
// allows.
CUresult mipmap_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                       unsigned levels, CUmipmappedArray *out);

// Revoke the handles, including those of levels. The memory is freed with the last reference.
void array_end(struct sim_array *array);
void mipmap_end(struct sim_mipmap *mipmap);

#endif
