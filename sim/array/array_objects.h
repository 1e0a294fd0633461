// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys arrays and mipmapped arrays.
#ifndef SIM_ARRAY_OBJECTS_H
#define SIM_ARRAY_OBJECTS_H

#include "sim/array/array_storage.h"

// Returns CUDA_SUCCESS, INVALID_VALUE or OUT_OF_MEMORY.
CUresult array_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                      CUarray *out);
// Creates a mipmapped array with LEVELS levels, at least one and at most as many as its size
// allows.
CUresult mipmap_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                       unsigned levels, CUmipmappedArray *out);

// Destroys the handles, those of the levels as well. The last reference frees the memory.
void array_end(struct sim_array *array);
void mipmap_end(struct sim_mipmap *mipmap);

#endif
