// SPDX-License-Identifier: BSD-3-Clause
// Making and ending arrays, for the calls that do.
#ifndef SIM_ARRAY_OBJECTS_H
#define SIM_ARRAY_OBJECTS_H

#include "sim/array/array_storage.h"

// INVALID_VALUE, OUT_OF_MEMORY.
CUresult array_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                      CUarray *out);
// Of as many LEVELS as there can be, at the most; none is one.
CUresult mipmap_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                       unsigned levels, CUmipmappedArray *out);

// The handles go, of the levels as well; the memory goes with the last reference.
void array_end(struct sim_array *array);
void mipmap_end(struct sim_mipmap *mipmap);

#endif
