// SPDX-License-Identifier: BSD-3-Clause
#include "sim/array/array_storage.h"

#include <stdlib.h>

#include "sim/array/array_tiles.h"
#include "sim/engine/memory.h"

CUresult array_storage_create(struct context *context, const struct array_storage *layout,
                              struct array_storage **out)
{
    struct array_storage *storage = malloc(sizeof(*storage));
    SIM_RETURN_IF(!storage, CUDA_ERROR_OUT_OF_MEMORY);
    *storage = *layout;
    atomic_init(&storage->references, 1);
    storage->context = context;
    CUresult result = CUDA_SUCCESS;
    if (layout->descriptor.Flags & CUDA_ARRAY3D_SPARSE)
        result = array_tiles_create(storage);
    else if (!(layout->descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING))
        result = memory_allocate(context, storage->size, MEMORY_ARRAY, NULL, &storage->base);
    if (result) {
        free(storage);
        return result;
    }
    object_hold(&context->object);
    *out = storage;
    return CUDA_SUCCESS;
}

void array_storage_hold(struct array_storage *storage)
{
    atomic_fetch_add(&storage->references, 1);
}

static bool array_storage_is_array(const struct memory_range *range)
{
    return range->kind == MEMORY_ARRAY;
}

void array_storage_put(struct array_storage *storage)
{
    if (atomic_fetch_sub(&storage->references, 1) != 1)
        return;
    if (storage->tiles)
        array_tiles_destroy(storage);
    else if (storage->base)
        memory_release(storage->base, array_storage_is_array, NULL);
    object_put(&storage->context->object);
    free(storage);
}
