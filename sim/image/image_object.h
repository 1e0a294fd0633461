// SPDX-License-Identifier: BSD-3-Clause
// Texture and surface objects: the program's descriptors, and the form that kernels read. An object
// has a reference to the memory of its array, so the program may destroy the array.
#ifndef SIM_IMAGE_OBJECT_H
#define SIM_IMAGE_OBJECT_H

#include "sim/array/array_storage.h"
#include "sim/ptx/ptx.h"
#include "sim/texture/texture.h"

struct texture_object {
    struct sim_object object;
    struct texture texture;
    struct array_storage *storage; // counted; NULL for linear memory
    uint64_t base, size;           // address and bytes of linear memory
    CUDA_RESOURCE_DESC resource;   // descriptors, as the program passed them
    CUDA_TEXTURE_DESC sampler;
    bool viewed;
    CUDA_RESOURCE_VIEW_DESC view;
};

struct surface_object {
    struct sim_object object;
    struct surface surface;
    struct array_storage *storage; // counted reference
    CUDA_RESOURCE_DESC resource;
};

// Converts an array format to a texel kind. `as_integer`: texels are read as integers, not as
// fractions of their range. Returns false if textures do not support the format.
bool image_texel_kind(CUarray_format format, unsigned channels, bool as_integer,
                      struct texel_kind *out);

// Return INVALID_VALUE, INVALID_HANDLE, NOT_SUPPORTED or OUT_OF_MEMORY.
CUresult texture_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               const CUDA_TEXTURE_DESC *sampler,
                               const CUDA_RESOURCE_VIEW_DESC *view, CUtexObject *out);
CUresult surface_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               CUsurfObject *out);

// Return the object of a handle with a new reference; the caller calls object_put. NULL if there is
// none.
struct texture_object *texture_object_get(CUtexObject handle);
struct surface_object *surface_object_get(CUsurfObject handle);

// Returns the functions with which kernels of CONTEXT look up objects.
struct ptx_images image_finders(struct context *context);

#endif
