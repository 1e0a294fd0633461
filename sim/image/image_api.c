// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls for texture and surface objects.
#include "sim/image/image_object.h"

SIM_API(cuTexObjectCreate, CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
        const CUDA_TEXTURE_DESC *sampler, const CUDA_RESOURCE_VIEW_DESC *view)
{
    struct context *context;

    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !resource || !sampler, CUDA_ERROR_INVALID_VALUE);
    return texture_object_create(context, resource, sampler, view, out);
}

SIM_API(cuSurfObjectCreate, CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
    struct context *context;

    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !resource, CUDA_ERROR_INVALID_VALUE);
    return surface_object_create(context, resource, out);
}

// Destroys an object. The driver accepts any invalid handle here.
static CUresult image_api_end(struct sim_object *object)
{
    if (!object)
        return CUDA_SUCCESS;
    if (handle_revoke(object))
        object_put(object);
    object_put(object);
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectDestroy, CUtexObject handle)
{
    struct context *context;

    SIM_TRY(context_require(&context));
    return image_api_end((struct sim_object *)texture_object_get(handle));
}

SIM_API(cuSurfObjectDestroy, CUsurfObject handle)
{
    struct context *context;

    SIM_TRY(context_require(&context));
    return image_api_end((struct sim_object *)surface_object_get(handle));
}

static CUresult image_api_look_up(const void *out, CUtexObject handle,
                                  struct texture_object **texture)
{
    struct context *context;

    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    *texture = texture_object_get(handle);
    return *texture ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Returns the resource without an array that was destroyed.
static CUDA_RESOURCE_DESC still_there(const CUDA_RESOURCE_DESC *resource)
{
    CUDA_RESOURCE_DESC out = *resource;
    struct sim_mipmap *mipmap = NULL;
    struct sim_array *array = NULL;

    if (out.resType == CU_RESOURCE_TYPE_ARRAY && array_get(out.res.array.hArray, &array))
        out.res.array.hArray = NULL;
    if (out.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
        mipmap_get(out.res.mipmap.hMipmappedArray, &mipmap))
        out.res.mipmap.hMipmappedArray = NULL;
    if (array)
        object_put(&array->object);
    if (mipmap)
        object_put(&mipmap->object);
    return out;
}

SIM_API(cuTexObjectGetResourceDesc, CUDA_RESOURCE_DESC *out, CUtexObject handle)
{
    SCOPED_OBJECT struct texture_object *texture = NULL;

    SIM_TRY(image_api_look_up(out, handle, &texture));
    *out = still_there(&texture->resource);
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectGetTextureDesc, CUDA_TEXTURE_DESC *out, CUtexObject handle)
{
    SCOPED_OBJECT struct texture_object *texture = NULL;

    SIM_TRY(image_api_look_up(out, handle, &texture));
    *out = texture->sampler;
    return CUDA_SUCCESS;
}

SIM_API(cuTexObjectGetResourceViewDesc, CUDA_RESOURCE_VIEW_DESC *out, CUtexObject handle)
{
    struct texture_object *texture;
    bool viewed;

    SIM_TRY(image_api_look_up(out, handle, &texture));
    viewed = texture->viewed;
    if (viewed)
        *out = texture->view;
    object_put(&texture->object);
    return CUDA_SUCCESS; // without a view the output stays unchanged
}

SIM_API(cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC *out, CUsurfObject handle)
{
    struct surface_object *surface;
    struct context *context;

    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    surface = surface_object_get(handle);
    SIM_RETURN_IF(!surface, CUDA_ERROR_INVALID_VALUE);
    *out = still_there(&surface->resource);
    object_put(&surface->object);
    return CUDA_SUCCESS;
}
