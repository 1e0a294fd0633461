// SPDX-License-Identifier: BSD-3-Clause
// Texture and surface objects: what the program described, and what kernels read by it. An object holds the memory
// of its array, so that a kernel may go on reading when the program destroys the array first.
#ifndef SIM_IMAGE_OBJECT_H
#define SIM_IMAGE_OBJECT_H

#include "sim/array/array_storage.h"
#include "sim/ptx/ptx.h"
#include "sim/texture/texture.h"

struct texture_object {
    struct sim_object object;
    struct texture texture;
    struct array_storage *storage; // counted; NULL: linear memory
    uint64_t base, size;           // of linear memory
    CUDA_RESOURCE_DESC resource;   // as the program gave them
    CUDA_TEXTURE_DESC sampler;
    bool viewed;
    CUDA_RESOURCE_VIEW_DESC view;
};

struct surface_object {
    struct sim_object object;
    struct surface surface;
    struct array_storage *storage; // counted
    CUDA_RESOURCE_DESC resource;
};

// The texels of a format, and whether integers are read as they are or as fractions of their range. False: there
// are no textures of it here.
bool image_texel_kind(CUarray_format format, unsigned channels, bool as_integer,
                      struct texel_kind *out);

// INVALID_VALUE, INVALID_HANDLE, NOT_SUPPORTED, OUT_OF_MEMORY.
CUresult texture_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               const CUDA_TEXTURE_DESC *sampler,
                               const CUDA_RESOURCE_VIEW_DESC *view, CUtexObject *out);
CUresult surface_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               CUsurfObject *out);

// By what kernels and calls name them; to be put.
struct texture_object *texture_object_get(CUtexObject handle);
struct surface_object *surface_object_get(CUsurfObject handle);

// How the kernels of a context find its objects.
struct ptx_images image_finders(struct context *context);

#endif
