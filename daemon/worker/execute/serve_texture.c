// SPDX-License-Identifier: BSD-3-Clause
// Texture and surface objects. The client gets the driver's values, because kernels find them in
// their parameters and in memory. Arrays in descriptions are handles of the client.
#include "proto/wire.h"
#include "daemon/worker/account/allocation.h"
#include "worker_driver.h"
#include "worker_serve.h"

// At addresses of the client program's own memory this process may have memory that the GPU knows
// as well. The driver judges other addresses without memory.
static void refuse_ours(struct serve *serve, CUdeviceptr address)
{
    uint64_t start, end;
    CUmemorytype type = 0;
    if (driver.cuPointerGetAttribute &&
        driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
            CUDA_SUCCESS &&
        type == CU_MEMORYTYPE_HOST && !allocation_find(address, &start, &end))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

static void serve_texture_check_memory(struct serve *serve, const CUDA_RESOURCE_DESC *resource)
{
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR)
        refuse_ours(serve, resource->res.linear.devPtr);
    if (resource->resType == CU_RESOURCE_TYPE_PITCH2D)
        refuse_ours(serve, resource->res.pitch2D.devPtr);
}

// A description as the driver takes it.
static void serve_texture_resolve(struct serve *serve, const CUDA_RESOURCE_DESC *from,
                                  CUDA_RESOURCE_DESC *to)
{
    uint64_t array = (uintptr_t)from->res.array.hArray;

    *to = *from;
    serve_texture_check_memory(serve, from);
    if (from->resType == CU_RESOURCE_TYPE_ARRAY && array)
        to->res.array.hArray = serve_handle(serve, HANDLE_ARRAY, array);
    if (from->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && array)
        to->res.mipmap.hMipmappedArray = serve_handle(serve, HANDLE_MIPMAP, array);
    if ((from->resType == CU_RESOURCE_TYPE_ARRAY ||
         from->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) &&
        !array)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

// And back: an array that the client has destroyed has no handle any more.
static void unresolve(CUDA_RESOURCE_DESC *resource)
{
    if (resource->resType == CU_RESOURCE_TYPE_ARRAY)
        resource->res.array.hArray =
            (CUarray)(uintptr_t)serve_handle_of(HANDLE_ARRAY, resource->res.array.hArray);
    else if (resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        resource->res.mipmap.hMipmappedArray =
            (CUmipmappedArray)(uintptr_t)serve_handle_of(HANDLE_MIPMAP,
                                                         resource->res.mipmap.hMipmappedArray);
}

void serve_cuTexObjectCreate(struct serve *serve, const struct args_cuTexObjectCreate *args,
                             struct reply_cuTexObjectCreate *reply)
{
    CUDA_RESOURCE_DESC resource;
    CUtexObject object = 0;

    serve_texture_resolve(serve, &args->pResDesc, &resource);
    if (!serve_failed(serve))
        serve_fail(serve,
                   driver.cuTexObjectCreate(&object, &resource, &args->pTexDesc,
                                            args->pResViewDesc_given ? &args->pResViewDesc : NULL));
    reply->pTexObject = object;
}

void serve_cuSurfObjectCreate(struct serve *serve, const struct args_cuSurfObjectCreate *args,
                              struct reply_cuSurfObjectCreate *reply)
{
    CUDA_RESOURCE_DESC resource;
    CUsurfObject object = 0;

    serve_texture_resolve(serve, &args->pResDesc, &resource);
    if (!serve_failed(serve))
        serve_fail(serve, driver.cuSurfObjectCreate(&object, &resource));
    reply->pSurfObject = object;
}

void serve_cuTexObjectGetResourceDesc(struct serve *serve,
                                      const struct args_cuTexObjectGetResourceDesc *args,
                                      struct reply_cuTexObjectGetResourceDesc *reply)
{
    serve_fail(serve, driver.cuTexObjectGetResourceDesc(&reply->pResDesc, args->texObject));
    unresolve(&reply->pResDesc);
}

void serve_cuSurfObjectGetResourceDesc(struct serve *serve,
                                       const struct args_cuSurfObjectGetResourceDesc *args,
                                       struct reply_cuSurfObjectGetResourceDesc *reply)
{
    serve_fail(serve, driver.cuSurfObjectGetResourceDesc(&reply->pResDesc, args->surfObject));
    unresolve(&reply->pResDesc);
}
