// SPDX-License-Identifier: BSD-3-Clause
// Creates, looks up and revokes the handles of arrays and mipmapped arrays.
#include <stdlib.h>

#include "sim/array/array_objects.h"

static void destroy_array(struct sim_object *object)
{
    struct sim_array *array = (struct sim_array *)object;
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

// Creates an unpublished array for a part of the storage, and adds a reference to the storage.
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

// Each level has one reference for its handle and one for the mipmapped array.
static CUresult publish_levels(struct sim_mipmap *mipmap)
{
    struct array_storage *storage = mipmap->storage;
    for (unsigned i = 0; i < storage->part_count; i++) {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = array_level(&storage->descriptor, i);
        struct sim_array *level = new_array(storage, i, &descriptor);
        SIM_RETURN_IF(!level, CUDA_ERROR_OUT_OF_MEMORY);
        level->is_level = true;
        mipmap->levels[i] = level;
        SIM_TRY(handle_publish(&level->object));
        object_hold(&level->object);
    }
    return CUDA_SUCCESS;
}

static void revoke(struct sim_object *object)
{
    if (handle_revoke(object))
        object_put(object);
}

static void revoke_levels(struct sim_mipmap *mipmap)
{
    for (unsigned i = 0; i < ARRAY_PARTS_MAX; i++)
        if (mipmap->levels[i])
            revoke(&mipmap->levels[i]->object);
}

CUresult array_create(struct context *context, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                      CUarray *out)
{
    struct array_storage layout, *storage;
    SIM_TRY(array_lay_out(descriptor, 0, &layout));
    SIM_TRY(array_storage_create(context, &layout, &storage));
    struct sim_array *array = new_array(storage, 0, descriptor);
    array_storage_put(storage);
    SIM_RETURN_IF(!array, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = handle_publish(&array->object);
    if (result) {
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
    CUresult result = publish_levels(mipmap);
    if (!result)
        result = handle_publish(&mipmap->object);
    if (result) {
        revoke_levels(mipmap);
        object_put(&mipmap->object);
        return result;
    }
    *out = object_handle(&mipmap->object);
    return CUDA_SUCCESS;
}

void array_end(struct sim_array *array)
{
    revoke(&array->object);
}

void mipmap_end(struct sim_mipmap *mipmap)
{
    revoke_levels(mipmap);
    revoke(&mipmap->object);
}

CUresult array_get(CUarray handle, struct sim_array **out)
{
    *out = handle_get(OBJECT_ARRAY, handle);
    SIM_RETURN_IF(!*out && handle_looks_like(OBJECT_ARRAY, handle),
                  CUDA_ERROR_CONTEXT_IS_DESTROYED);
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
