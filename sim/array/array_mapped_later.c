// SPDX-License-Identifier: BSD-3-Clause
// What is said of arrays whose memory is mapped later: how much they want, and of which tiles they are.
#include <string.h>

#include "sim/array/array_storage.h"

#define TILE ((size_t)64 << 10)

static CUresult require_memory(const struct array_storage *storage,
                               CUDA_ARRAY_MEMORY_REQUIREMENTS *out)
{
    SIM_RETURN_IF(!(storage->descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING),
                  CUDA_ERROR_INVALID_VALUE);
    memset(out, 0, sizeof(*out));
    out->size = (storage->size + TILE - 1) & ~(TILE - 1);
    out->alignment = TILE;
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

// Tiles by the size of elements (1, 2, 4, 8, 16 bytes), all of the same number of bytes.
static void tile_of(const struct array_storage *storage, unsigned tile[3])
{
    static const unsigned flat[][3] = {
        {256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
    static const unsigned deep[][3] = {
        {64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
    const struct array_part *part = &storage->parts[0];
    int size = __builtin_ctz(part->element.bytes);
    for (unsigned i = 0; i < 3; i++)
        tile[i] = (part->depth > 1 ? deep : flat)[size][i] * (i < 2 ? part->element.block : 1);
}

static bool is_whole(const struct array_part *part, const unsigned tile[3])
{
    return part->width >= tile[0] && part->height >= tile[1] && part->depth >= tile[2];
}

static CUresult describe_tiles(const struct array_storage *storage,
                               CUDA_ARRAY_SPARSE_PROPERTIES *out)
{
    unsigned tile[3], level = 0;
    SIM_RETURN_IF(!(storage->descriptor.Flags & CUDA_ARRAY3D_SPARSE), CUDA_ERROR_INVALID_VALUE);
    tile_of(storage, tile);
    while (level < storage->part_count && is_whole(&storage->parts[level], tile))
        level++;
    memset(out, 0, sizeof(*out));
    out->tileExtent.width = tile[0];
    out->tileExtent.height = tile[1];
    out->tileExtent.depth = tile[2];
    out->miptailFirstLevel = level;
    if (level < storage->part_count) {
        size_t left = storage->size - storage->parts[level].offset;
        out->miptailSize = (left + TILE - 1) & ~(TILE - 1);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *out, CUarray handle)
{
    struct sim_array *array;
    SIM_RETURN_IF(!out || !handle || array_get(handle, &array), CUDA_ERROR_INVALID_VALUE);
    CUresult result = describe_tiles(array->storage, out);
    object_put(&array->object);
    return result;
}

SIM_API(cuMipmappedArrayGetSparseProperties, CUDA_ARRAY_SPARSE_PROPERTIES *out,
        CUmipmappedArray handle)
{
    struct sim_mipmap *mipmap;
    SIM_RETURN_IF(!out || !handle || mipmap_get(handle, &mipmap), CUDA_ERROR_INVALID_VALUE);
    CUresult result = describe_tiles(mipmap->storage, out);
    object_put(&mipmap->object);
    return result;
}
