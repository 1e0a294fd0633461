// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that create, describe and destroy arrays.
#include "sim/array/array_objects.h"
#include "sim/engine/capture.h"

static CUresult array_api_create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !descriptor, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    return array_create(context, descriptor, out);
}

SIM_API(cuArrayCreate_v2, CUarray *out, const CUDA_ARRAY_DESCRIPTOR *flat)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    if (flat)
        descriptor = (CUDA_ARRAY3D_DESCRIPTOR){.Width = flat->Width,
                                               .Height = flat->Height,
                                               .Format = flat->Format,
                                               .NumChannels = flat->NumChannels};
    return array_api_create(out, flat ? &descriptor : NULL);
}

SIM_API(cuArray3DCreate_v2, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    return array_api_create(out, descriptor);
}

static CUresult array_api_describe(CUarray handle, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    SCOPED_OBJECT struct sim_array *array = NULL;
    SIM_TRY(array_get(handle, &array));
    *out = array->descriptor;
    return CUDA_SUCCESS;
}

SIM_API(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(array_api_describe(handle, &descriptor));
    *out = descriptor;
    return CUDA_SUCCESS;
}

SIM_API(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(array_api_describe(handle, &descriptor));
    *out = (CUDA_ARRAY_DESCRIPTOR){.Width = descriptor.Width,
                                   .Height = descriptor.Height,
                                   .Format = descriptor.Format,
                                   .NumChannels = descriptor.NumChannels};
    return CUDA_SUCCESS;
}

// Waits for all earlier work, which may use the memory. The array of a level ends only with its
// mipmapped array.
SIM_API(cuArrayDestroy, CUarray handle)
{
    SCOPED_OBJECT struct sim_array *array = NULL;
    SIM_TRY(sim_check_ready());
    SIM_TRY(array_get(handle, &array));
    CUresult result = capture_check_unsafe();
    if (!result && !array->is_level) {
        context_quiesce(array->storage->context);
        array_end(array);
    }
    return result;
}

// Always fails on valid arrays, because no supported format has planes.
SIM_API(cuArrayGetPlane, CUarray *out, CUarray handle, unsigned int plane)
{
    SCOPED_OBJECT struct sim_array *array = NULL;
    SIM_TRY(sim_check_ready());
    SIM_TRY(array_get(handle, &array));
    return CUDA_ERROR_INVALID_VALUE;
}

// ---- mipmapped arrays ----

SIM_API(cuMipmappedArrayCreate, CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
        unsigned int levels)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !descriptor, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    return mipmap_create(context, descriptor, levels ? levels : 1, out);
}

SIM_API(cuMipmappedArrayGetLevel, CUarray *out, CUmipmappedArray handle, unsigned int level)
{
    SCOPED_OBJECT struct sim_mipmap *mipmap = NULL;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(mipmap_get(handle, &mipmap));
    bool found = level < mipmap->storage->part_count;
    if (found)
        *out = object_handle(&mipmap->levels[level]->object);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuMipmappedArrayDestroy, CUmipmappedArray handle)
{
    SCOPED_OBJECT struct sim_mipmap *mipmap = NULL;
    SIM_TRY(sim_check_ready());
    SIM_TRY(mipmap_get(handle, &mipmap));
    CUresult result = capture_check_unsafe();
    if (!result) {
        context_quiesce(mipmap->storage->context);
        mipmap_end(mipmap);
    }
    return result;
}
