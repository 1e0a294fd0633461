// SPDX-License-Identifier: BSD-3-Clause
// Reports the memory requirements and tile properties of arrays whose memory is mapped later.
#include <string.h>

#include "sim/array/array_tiles.h"

static CUresult require_memory(const struct array_storage *storage,
                               CUDA_ARRAY_MEMORY_REQUIREMENTS *out)
{
    SIM_RETURN_IF(!(storage->descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING),
                  CUDA_ERROR_INVALID_VALUE);
    memset(out, 0, sizeof(*out));
    out->size = (storage->size + ARRAY_TILE_BYTES - 1) & ~(ARRAY_TILE_BYTES - 1);
    out->alignment = ARRAY_TILE_BYTES;
    return CUDA_SUCCESS;
}

SIM_API(cuArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *out, CUarray handle,
        CUdevice index)
{
    struct device *device;
    struct sim_array *array;
    SIM_RETURN_IF(!out || !handle || device_get(index, &device) || array_get(handle, &array),
                  CUDA_ERROR_INVALID_VALUE);
    CUresult result = require_memory(array->storage, out);
    object_put(&array->object);
    return result;
}

SIM_API(cuMipmappedArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
        CUmipmappedArray handle, CUdevice index)
{
    struct device *device;
    struct sim_mipmap *mipmap;
    SIM_RETURN_IF(!out || !handle || device_get(index, &device) || mipmap_get(handle, &mipmap),
                  CUDA_ERROR_INVALID_VALUE);
    CUresult result = require_memory(mipmap->storage, out);
    object_put(&mipmap->object);
    return result;
}

// ---- tiles ----

// Describes the tiles. A plain array has a tail only if it is smaller than a tile.
static CUresult describe_tiles(const struct array_storage *storage, bool levels,
                               CUDA_ARRAY_SPARSE_PROPERTIES *out)
{
    unsigned tile[3], first = array_first_of_tail(storage);
    SIM_RETURN_IF(!storage->tiles, CUDA_ERROR_INVALID_VALUE);
    array_tile_extents(storage, tile);
    memset(out, 0, sizeof(*out));
    out->tileExtent.width = tile[0];
    out->tileExtent.height = tile[1];
    out->tileExtent.depth = tile[2];
    out->miptailFirstLevel = levels ? first : 0;
    out->miptailSize = array_tail_bytes(storage);
    out->flags = first ? 0 : CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
    return CUDA_SUCCESS;
}

SIM_API(cuArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle)
{
    struct sim_array *array;
    SIM_RETURN_IF(!out || !handle || array_get(handle, &array), CUDA_ERROR_INVALID_VALUE);
    CUresult result = array->is_level ? CUDA_ERROR_INVALID_VALUE
                                      : describe_tiles(array->storage, false, out);
    object_put(&array->object);
    return result;
}

SIM_API(cuMipmappedArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *out,
        CUmipmappedArray handle)
{
    struct sim_mipmap *mipmap;
    SIM_RETURN_IF(!out || !handle || mipmap_get(handle, &mipmap), CUDA_ERROR_INVALID_VALUE);
    CUresult result = describe_tiles(mipmap->storage, true, out);
    object_put(&mipmap->object);
    return result;
}
