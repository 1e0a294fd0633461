// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys arrays, which count against the budget, and maps memory to sparse and
// deferred arrays. Arrays end with their context; levels and planes end with their array.
#include "proto/wire.h"
#include "daemon/worker/account/array_cost.h"
#include "daemon/worker/execute/box_memory.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/execute/serve_green.h"
#include "worker_driver.h"
#include "worker_serve.h"

// *COST: to be made good or given back.
static void serve_array_take(struct serve *serve, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                             unsigned levels, struct array_cost **cost)
{
    CUdevice device = 0;

    *cost = NULL;
    serve_fail(serve, driver.cuCtxGetDevice(&device));
    if (!serve_failed(serve))
        serve_fail(serve, array_cost_take(green_root(serve->current), session_device_of(device),
                                          descriptor, levels, cost));
}

// Binds the new array to its handle, or gives back its charge on failure.
static void serve_array_settle(struct serve *serve, enum handle_kind kind, uint64_t handle,
                               void *array, struct array_cost *cost)
{
    if (serve_failed(serve)) {
        array_cost_give(cost);
        return;
    }
    array_cost_is(cost, array);
    serve_bind(serve, kind, handle, array, serve_context(serve));
}

void serve_cuArray3DCreate_v2(struct serve *serve, const struct args_cuArray3DCreate_v2 *args)
{
    struct array_cost *cost;
    CUarray array = NULL;

    serve_array_take(serve, &args->pAllocateArray, 0, &cost);
    if (!serve_failed(serve))
        serve_fail(serve, driver.cuArray3DCreate_v2(&array, &args->pAllocateArray));
    serve_array_settle(serve, HANDLE_ARRAY, args->pHandle, array, cost);
}

void serve_cuMipmappedArrayCreate(struct serve *serve,
                                  const struct args_cuMipmappedArrayCreate *args)
{
    unsigned levels = args->numMipmapLevels;
    struct array_cost *cost;
    CUmipmappedArray array = NULL;

    serve_array_take(serve, &args->pMipmappedArrayDesc, levels ? levels : 1, &cost);
    if (!serve_failed(serve))
        serve_fail(serve,
                   driver.cuMipmappedArrayCreate(&array, &args->pMipmappedArrayDesc, levels));
    serve_array_settle(serve, HANDLE_MIPMAP, args->pHandle, array, cost);
}

void serve_cuArrayDestroy(struct serve *serve, const struct args_cuArrayDestroy *args,
                          CUarray array)
{
    serve_fail(serve, driver.cuArrayDestroy(array));
    if (serve_failed(serve))
        return;
    array_cost_end(array);
    box_memory_array_ends(array);
    serve_unbind(serve, HANDLE_ARRAY, args->hArray);
}

void serve_cuMipmappedArrayDestroy(struct serve *serve,
                                   const struct args_cuMipmappedArrayDestroy *args,
                                   CUmipmappedArray array)
{
    serve_fail(serve, driver.cuMipmappedArrayDestroy(array));
    if (serve_failed(serve))
        return;
    array_cost_end(array);
    box_memory_array_ends(array);
    serve_unbind(serve, HANDLE_MIPMAP, args->hMipmappedArray);
}

// ---- memory that is mapped ----

static void resolve_mapping(struct serve *serve, CUarrayMapInfo *info)
{
    if (info->resourceType == CU_RESOURCE_TYPE_ARRAY)
        info->resource.array = serve_handle(serve, HANDLE_ARRAY, (uintptr_t)info->resource.array);
    else if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        info->resource.mipmap =
            serve_handle(serve, HANDLE_MIPMAP, (uintptr_t)info->resource.mipmap);
    else
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (serve_failed(serve) || info->memOperationType != CU_MEM_OPERATION_TYPE_MAP)
        return;
    info->memHandle.memHandle =
        box_memory_of_array(serve, info->memHandle.memHandle, info->resource.array);
}

void serve_cuMemMapArrayAsync(struct serve *serve, const struct args_cuMemMapArrayAsync *args,
                              CUstream stream)
{
    CUarrayMapInfo list[sizeof(args->mapInfoList) / sizeof(args->mapInfoList[0])];

    if (!serve_require(serve, driver.cuMemMapArrayAsync))
        return;
    if (args->count > sizeof(list) / sizeof(list[0]))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    for (uint32_t i = 0; !serve_failed(serve) && i < args->count; i++) {
        list[i] = args->mapInfoList[i];
        resolve_mapping(serve, &list[i]);
    }
    if (!serve_failed(serve))
        serve_fail(serve, driver.cuMemMapArrayAsync(list, args->count, stream));
}
