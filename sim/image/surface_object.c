// SPDX-License-Identifier: BSD-3-Clause
// Implements surface objects, and the lookup of texture and surface objects by kernels.
#include "sim/image/image_object.h"

#include <stdlib.h>

#include "sim/engine/memory.h"

static void surface_object_free(struct sim_object *object)
{
    struct surface_object *s = (struct surface_object *)object;

    if (s->storage)
        array_storage_put(s->storage);
    free(s);
}

static CUresult use_part(struct surface_object *o, const struct sim_array *array)
{
    const struct array_part *part = array_part_of(array);
    struct array_storage *storage = array->storage;

    SIM_RETURN_IF(!storage->base, CUDA_ERROR_INVALID_VALUE); // no memory is mapped yet
    SIM_RETURN_IF(part->element.block > 1, CUDA_ERROR_NOT_SUPPORTED);
    SIM_RETURN_IF(!image_texel_kind(array->descriptor.Format, array->descriptor.NumChannels, true,
                                    &o->surface.texel),
                  CUDA_ERROR_NOT_SUPPORTED);
    array_storage_hold(storage);
    o->storage = storage;
    o->surface.base = array_texel(storage, part, 0, 0, 0);
    o->surface.width = (unsigned)part->width;
    o->surface.height = (unsigned)part->height;
    o->surface.depth = (unsigned)part->depth;
    o->surface.layers = (unsigned)part->layers;
    o->surface.layered = array_is_layered(&array->descriptor);
    o->surface.dimension = array->descriptor.Depth && !o->surface.layered ? 3
                           : array->descriptor.Height                     ? 2
                                                                          : 1;
    o->surface.row_bytes = part->row_bytes;
    o->surface.slice_bytes = part->slice_bytes;
    return CUDA_SUCCESS;
}

CUresult surface_object_create(struct context *context, const CUDA_RESOURCE_DESC *resource,
                               CUsurfObject *out)
{
    struct surface_object *o;
    struct sim_array *array;
    CUresult result;

    SIM_RETURN_IF(resource->resType != CU_RESOURCE_TYPE_ARRAY || resource->flags,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!resource->res.array.hArray, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(array_get(resource->res.array.hArray, &array));
    o = calloc(1, sizeof(*o));
    if (!o) {
        object_put(&array->object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object_init(&o->object, OBJECT_SURFACE, context, surface_object_free);
    o->resource = *resource;
    result = use_part(o, array);
    object_put(&array->object);
    if (!result)
        result = handle_publish(&o->object);
    if (result)
        object_put(&o->object);
    else
        *out = o->object.handle;
    return result;
}

struct surface_object *surface_object_get(CUsurfObject handle)
{
    return handle_get(OBJECT_SURFACE, (const void *)(uintptr_t)handle);
}

// Returns false if the program has freed the linear memory.
static bool is_readable(struct context *context, const struct texture_object *t)
{
    uint64_t base, end;

    if (t->storage || (!t->size && t->texture.linear_memory))
        return true; // without texels nothing is read
    return memory_find_for_kernel(context, t->base, &base, &end) && end - t->base >= t->size;
}

static const struct texture *surface_object_find_texture(void *argument, uint64_t handle)
{
    struct context *context = argument;
    struct texture_object *t = texture_object_get(handle);

    if (!t)
        return NULL;
    if (t->object.context == context && is_readable(context, t))
        return &t->texture;
    object_put(&t->object);
    return NULL;
}

static const struct surface *surface_object_find_surface(void *argument, uint64_t handle)
{
    struct surface_object *s = surface_object_get(handle);

    if (s && s->object.context != argument) {
        object_put(&s->object);
        return NULL;
    }
    return s ? &s->surface : NULL;
}

static void release_texture(void *argument, const struct texture *texture)
{
    (void)argument;
    object_put(
        (struct sim_object *)((uintptr_t)texture - offsetof(struct texture_object, texture)));
}

static void release_surface(void *argument, const struct surface *surface)
{
    (void)argument;
    object_put(
        (struct sim_object *)((uintptr_t)surface - offsetof(struct surface_object, surface)));
}

struct ptx_images image_finders(struct context *context)
{
    return (struct ptx_images){context, surface_object_find_texture, surface_object_find_surface,
                               release_texture, release_surface};
}
