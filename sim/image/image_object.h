// SPDX-License-Identifier: BSD-3-Clause
// Implements texture and surface objects: the program's descriptions, and the form that kernels
// read. An object holds the memory of its array, so kernels may continue to read after the program
// destroys the array.
#ifndef SIM_IMAGE_OBJECT_H
#define SIM_IMAGE_OBJECT_H

#include "sim/array/array_storage.h"
#include "sim/ptx/ptx.h"
#include "sim/texture/texture.h"

struct texture_object {
    struct sim_object object;
    struct texture texture;
    struct array_storage *storage; // counted; NULL: linear memory
    uint64_t base, size;           // linear memory only
    CUDA_RESOURCE_DESC resource;   // the program's descriptors
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

// Converts a format to a texel kind. `as_integer` selects integers instead of fractions of their
// range. Returns false if the format is not supported for textures.
bool image_texel_kind(CUarray_format format, unsigned channels, bool as_integer,
                      struct texel_kind *out);

// Return INVALID_VALUE, INVALID_HANDLE, NOT_SUPPORTED or OUT_OF_MEMORY.
CUresult texture_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               const CUDA_TEXTURE_DESC *sampler,
                               const CUDA_RESOURCE_VIEW_DESC *view, CUtexObject *out);
CUresult surface_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               CUsurfObject *out);

// Look up an object by the handle of kernels and calls. The caller puts it.
struct texture_object *texture_object_get(CUtexObject handle);
struct surface_object *surface_object_get(CUsurfObject handle);

// Returns the functions by which kernels find the objects of a context.
struct ptx_images image_finders(struct context *context);

#endif
