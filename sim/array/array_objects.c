// SPDX-License-Identifier: BSD-3-Clause
// The handles of arrays and mipmapped arrays: made, looked up, and taken away.
#include <stdlib.h>

#include "sim/array/array_objects.h"

static void destroy_array(struct sim_object *object)
{
    struct sim_array *array = (struct sim_array *)object;
    for (unsigned i = 0; i < ARRAY_PLANES_MAX; i++)
        if (array->planes[i])
            object_put(&array->planes[i]->object);
    array_storage_put(array->storage);
    free(array);
}

static void destroy_mipmap(struct sim_object *object)
{
    struct sim_mipmap *mipmap = (struct sim_mipmap *)object;
    for (unsigned i = 0; i < ARRAY_PARTS_MAX; i++)
        if (mipmap->levels[i])
            object_put(&mipmap->levels[i]->object);
    array_storage_put(mipmap->storage);
    free(mipmap);
}

// An array on a part of the storage, of which it takes a reference. Not published.
static struct sim_array *new_array(struct array_storage *storage, unsigned part,
                                   const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    struct sim_array *array = calloc(1, sizeof(*array));
    if (!array)
        return NULL;
    object_init(&array->object, OBJECT_ARRAY, storage->context, destroy_array);
    array_storage_hold(storage);
    array->storage = storage;
    array->part = part;
    array->descriptor = *descriptor;
    return array;
}

// The array of a level or plane, whose extent the descriptor says as that of the whole does.
static struct sim_array *new_part(struct array_storage *storage, unsigned at)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor = storage->descriptor;
    const struct array_part *part = &storage->parts[at];
    descriptor.Width = part->width;
    if (descriptor.Height)
        descriptor.Height = part->height;
    if (descriptor.Depth)
        descriptor.Depth = array_slices(part);
    descriptor.Format = part->format;
    descriptor.NumChannels = part->channels;
    struct sim_array *array = new_array(storage, at, &descriptor);
    if (array)
        array->is_part = true;
    return array;
}

// Each part has one reference of its handle and one of the whole.
static CUresult publish_parts(struct array_storage *storage, struct sim_array **parts)
{
    for (unsigned i = 0; i < storage->part_count; i++) {
        struct sim_array *part = new_part(storage, i);
        SIM_RETURN_IF(!part, CUDA_ERROR_OUT_OF_MEMORY);
        parts[i] = part;
        SIM_TRY(handle_publish(&part->object));
        object_hold(&part->object);
    }
    return CUDA_SUCCESS;
}

static void revoke(struct sim_object *object)
{
    if (handle_revoke(object))
        object_put(object);
}

static void revoke_parts(struct sim_array **parts, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (parts[i])
            revoke(&parts[i]->object);
}

CUresult array_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                      CUarray *out)
{
    struct array_storage layout, *storage;
    SIM_TRY(array_lay_out(descriptor, 1, &layout));
    SIM_TRY(array_storage_create(context, &layout, &storage));
    struct sim_array *array = new_array(storage, 0, descriptor);
    array_storage_put(storage);
    SIM_RETURN_IF(!array, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = CUDA_SUCCESS;
    if (storage->part_count > 1)
        result = publish_parts(storage, array->planes);
    if (!result)
        result = handle_publish(&array->object);
    if (result) {
        revoke_parts(array->planes, ARRAY_PLANES_MAX);
        object_put(&array->object);
        return result;
    }
    *out = object_handle(&array->object);
    return CUDA_SUCCESS;
}

CUresult mipmap_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                       unsigned levels, CUmipmappedArray *out)
{
    struct array_storage layout, *storage;
    SIM_TRY(array_lay_out(descriptor, levels, &layout));
    SIM_TRY(array_storage_create(context, &layout, &storage));
    struct sim_mipmap *mipmap = calloc(1, sizeof(*mipmap));
    if (!mipmap) {
        array_storage_put(storage);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object_init(&mipmap->object, OBJECT_MIPMAP, context, destroy_mipmap);
    mipmap->storage = storage;
    CUresult result = publish_parts(storage, mipmap->levels);
    if (!result)
        result = handle_publish(&mipmap->object);
    if (result) {
        revoke_parts(mipmap->levels, ARRAY_PARTS_MAX);
        object_put(&mipmap->object);
        return result;
    }
    *out = object_handle(&mipmap->object);
    return CUDA_SUCCESS;
}

void array_end(struct sim_array *array)
{
    revoke_parts(array->planes, ARRAY_PLANES_MAX);
    revoke(&array->object);
}

void mipmap_end(struct sim_mipmap *mipmap)
{
    revoke_parts(mipmap->levels, ARRAY_PARTS_MAX);
    revoke(&mipmap->object);
}

CUresult array_get(CUarray handle, struct sim_array **out)
{
    *out = handle_get(OBJECT_ARRAY, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult mipmap_get(CUmipmappedArray handle, struct sim_mipmap **out)
{
    *out = handle_get(OBJECT_MIPMAP, handle);
    SIM_RETURN_IF(!*out && handle_looks_like(OBJECT_MIPMAP, handle),
                  CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult array_hold_memory(CUarray handle, struct array_storage **out)
{
    struct sim_array *array;
    SIM_RETURN_IF(array_get(handle, &array), CUDA_ERROR_INVALID_VALUE);
    bool there = array->storage->base;
    if (there) {
        array_storage_hold(array->storage);
        *out = array->storage;
    }
    object_put(&array->object);
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
