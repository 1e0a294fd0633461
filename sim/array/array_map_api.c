// SPDX-License-Identifier: BSD-3-Clause
// Maps memory to tiles of arrays, in stream order.
#include <stdlib.h>

#include "sim/array/array_tiles.h"
#include "sim/engine/capture.h"
#include "sim/engine/physical_pieces.h"
#include "sim/engine/stream.h"

struct mapping {
    struct array_storage *storage; // counted
    struct sim_physical *physical; // counted; NULL: unmaps
    struct array_units units;
    size_t offset;
};

struct map_operation {
    struct operation operation;
    size_t count;
    struct mapping mappings[];
};

static CUresult run_mappings(struct operation *operation, struct stream *stream)
{
    struct map_operation *map = (struct map_operation *)operation;
    for (size_t i = 0; i < map->count; i++) {
        struct mapping *m = &map->mappings[i];
        array_units_map(m->storage, &m->units, m->physical, m->offset);
    }
    return CUDA_SUCCESS;
}

static void release_mapping(struct mapping *m)
{
    if (m->physical)
        sim_physical_put(m->physical);
    if (m->storage)
        array_storage_put(m->storage);
}

static void release_mappings(struct operation *operation)
{
    struct map_operation *map = (struct map_operation *)operation;
    for (size_t i = 0; i < map->count; i++)
        release_mapping(&map->mappings[i]);
    free(map);
}

// Returns the storage of an array or mipmapped array. The arrays of levels cannot be mapped
// separately.
static CUresult hold_resource(const CUarrayMapInfo *info, struct array_storage **out)
{
    struct array_storage *storage = NULL;
    struct sim_array *array;
    struct sim_mipmap *mipmap;
    if (info->resourceType == CU_RESOURCE_TYPE_ARRAY && !array_get(info->resource.array, &array)) {
        if (!array->is_level)
            array_storage_hold(storage = array->storage);
        object_put(&array->object);
    } else if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
               !mipmap_get(info->resource.mipmap, &mipmap)) {
        array_storage_hold(storage = mipmap->storage);
        object_put(&mipmap->object);
    }
    SIM_RETURN_IF(!storage, CUDA_ERROR_INVALID_VALUE);
    *out = storage;
    return storage->tiles ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Returns true for whole tiles from a tile on. The array's edge may cut the last tile.
static bool array_map_api_fits(size_t extent, unsigned tile, unsigned offset, unsigned length)
{
    size_t whole = (extent + tile - 1) / tile * tile;
    return length && offset % tile == 0 && offset < extent && length % tile == 0 &&
           length <= whole - offset;
}

static CUresult read_level(const struct array_storage *storage, const CUarrayMapInfo *info,
                           struct array_units *units)
{
    unsigned tile[3], level = info->subresource.sparseLevel.level;
    SIM_RETURN_IF(level >= array_first_of_tail(storage), CUDA_ERROR_INVALID_VALUE);
    const struct array_part *part = &storage->parts[level];
    const unsigned offset[3] = {info->subresource.sparseLevel.offsetX,
                                info->subresource.sparseLevel.offsetY,
                                info->subresource.sparseLevel.offsetZ};
    const unsigned length[3] = {info->subresource.sparseLevel.extentWidth,
                                info->subresource.sparseLevel.extentHeight,
                                info->subresource.sparseLevel.extentDepth};
    const size_t extent[3] = {part->width, part->height, part->depth};
    array_tile_extents(storage, tile);
    SIM_RETURN_IF(info->subresource.sparseLevel.layer >= part->layers, CUDA_ERROR_INVALID_VALUE);
    *units = (struct array_units){.part = level, .layer = info->subresource.sparseLevel.layer};
    for (unsigned i = 0; i < 3; i++) {
        SIM_RETURN_IF(!array_map_api_fits(extent[i], tile[i], offset[i], length[i]),
                      CUDA_ERROR_INVALID_VALUE);
        units->first[i] = offset[i] / tile[i];
        units->count[i] = length[i] / tile[i];
    }
    return CUDA_SUCCESS;
}

static CUresult read_tail(const struct array_storage *storage, const CUarrayMapInfo *info,
                          struct array_units *units)
{
    size_t bytes = array_tail_bytes(storage);
    SIM_RETURN_IF(!bytes || info->subresource.miptail.offset ||
                      info->subresource.miptail.size != bytes ||
                      info->subresource.miptail.layer >= storage->parts[0].layers,
                  CUDA_ERROR_INVALID_VALUE);
    *units = (struct array_units){.tail = true, .layer = info->subresource.miptail.layer};
    return CUDA_SUCCESS;
}

static CUresult hold_memory(const CUarrayMapInfo *info, const struct mapping *m,
                            struct sim_physical **out)
{
    size_t bytes = array_units_bytes(m->storage, &m->units);
    struct sim_physical *physical;
    SIM_TRY(sim_physical_get(info->memHandle.memHandle, &physical));
    *out = physical;
    size_t size = sim_physical_size(physical);
    SIM_RETURN_IF(!sim_physical_is_tile_pool(physical) || info->offset % ARRAY_TILE_BYTES ||
                      info->offset > size || bytes > size - info->offset,
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult read_info(const CUarrayMapInfo *info, struct mapping *m)
{
    bool map = info->memOperationType == CU_MEM_OPERATION_TYPE_MAP;
    SIM_TRY(hold_resource(info, &m->storage));
    unsigned own = 1u << m->storage->context->device->index;
    SIM_RETURN_IF((!map && info->memOperationType != CU_MEM_OPERATION_TYPE_UNMAP) ||
                      info->memHandleType != CU_MEM_HANDLE_TYPE_GENERIC ||
                      info->deviceBitMask != own || info->flags || info->reserved[0] ||
                      info->reserved[1],
                  CUDA_ERROR_INVALID_VALUE);
    if (info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL)
        SIM_TRY(read_level(m->storage, info, &m->units));
    else if (info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
        SIM_TRY(read_tail(m->storage, info, &m->units));
    else
        return CUDA_ERROR_INVALID_VALUE;
    m->offset = info->offset;
    return map ? hold_memory(info, m, &m->physical) : CUDA_SUCCESS;
}

// Checks all entries before any is copied, because the stated length may exceed the list.
static CUresult check_list(const CUarrayMapInfo *list, unsigned count)
{
    CUresult result = list && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !result && i < count; i++) {
        struct mapping m = {0};
        result = read_info(&list[i], &m);
        release_mapping(&m);
    }
    return result;
}

static CUresult submit_list(const CUarrayMapInfo *list, unsigned count, struct stream *stream)
{
    SIM_TRY(check_list(list, count));
    struct map_operation *map = operation_create(sizeof(*map) + count * sizeof(map->mappings[0]),
                                                 run_mappings, release_mappings);
    SIM_RETURN_IF(!map, CUDA_ERROR_OUT_OF_MEMORY);
    while (map->count < count) {
        CUresult result = read_info(&list[map->count], &map->mappings[map->count]);
        map->count++;
        if (result) {
            operation_discard(&map->operation);
            return result;
        }
    }
    return stream_submit(stream, &map->operation, NULL);
}

SIM_API(cuMemMapArrayAsync, const CUarrayMapInfo *list, unsigned count, CUstream handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    return capture_contains(stream) ? capture_refuse(stream) : submit_list(list, count, stream);
}
