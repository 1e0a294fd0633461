// SPDX-License-Identifier: BSD-3-Clause
// Arrays and mipmapped arrays: making, describing and ending them, and memory that is mapped to
// them.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/memory/arrays.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    return array_make(pHandle, pAllocateArray);
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    if (!pAllocateArray)
        return array_make(pHandle, NULL);
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {.Width = pAllocateArray->Width,
                                          .Height = pAllocateArray->Height,
                                          .Format = pAllocateArray->Format,
                                          .NumChannels = pAllocateArray->NumChannels};
    return array_make(pHandle, &descriptor);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUresult result = process_ready();
    if (result == CUDA_SUCCESS && !pArrayDescriptor)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? array_describe(hArray, pArrayDescriptor) : result;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUresult result = cuArray3DGetDescriptor_v2(pArrayDescriptor ? &descriptor : NULL, hArray);
    if (result == CUDA_SUCCESS)
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = descriptor.Width,
                                                    .Height = descriptor.Height,
                                                    .Format = descriptor.Format,
                                                    .NumChannels = descriptor.NumChannels};
    return result;
}

CUresult cuArrayDestroy(CUarray hArray)
{
    CUresult result = process_ready();
    return result == CUDA_SUCCESS ? array_drop(hArray) : result;
}

CUresult cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
    CUresult result = process_ready();
    if (result == CUDA_SUCCESS && !object_find(HANDLE_ARRAY, hArray))
        result = object_missing(HANDLE_ARRAY, hArray);
    if (result == CUDA_SUCCESS && !pPlaneArray)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? array_plane(hArray, planeIdx, pPlaneArray) : result;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                unsigned int numMipmapLevels)
{
    return mipmap_make(pHandle, pMipmappedArrayDesc, numMipmapLevels);
}

CUresult cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level)
{
    CUresult result = process_ready();
    if (result == CUDA_SUCCESS && !pLevelArray)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? mipmap_level(hMipmappedArray, level, pLevelArray) : result;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    CUresult result = process_ready();
    return result == CUDA_SUCCESS ? mipmap_drop(hMipmappedArray) : result;
}

// ---- memory that is mapped later ----

// Returns RESULT, but with CUDA_ERROR_INVALID_VALUE for any invalid handle, context or device: the
// driver reports these so from the calls below.
static CUresult as_wrong_value(CUresult result)
{
    return result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                   result == CUDA_ERROR_INVALID_DEVICE
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array)
{
    return sparseProperties && array
               ? as_wrong_value(remote_cuArrayGetSparseProperties(sparseProperties, array))
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                             CUmipmappedArray mipmap)
{
    return sparseProperties && mipmap
               ? as_wrong_value(
                     remote_cuMipmappedArrayGetSparseProperties(sparseProperties, mipmap))
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                      CUarray array, CUdevice device)
{
    return memoryRequirements && array
               ? as_wrong_value(
                     remote_cuArrayGetMemoryRequirements(memoryRequirements, array, device))
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice device)
{
    return memoryRequirements && mipmap
               ? as_wrong_value(remote_cuMipmappedArrayGetMemoryRequirements(memoryRequirements,
                                                                             mipmap, device))
               : CUDA_ERROR_INVALID_VALUE;
}

enum { MAPPINGS_MAX = 32 }; // in one request

static bool is_possible(const CUarrayMapInfo *info)
{
    bool there = info->resourceType == CU_RESOURCE_TYPE_ARRAY
                     ? object_find(HANDLE_ARRAY, info->resource.array) != NULL
                     : info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
                           object_find(HANDLE_MIPMAP, info->resource.mipmap);
    const void *memory = (const void *)(uintptr_t)info->memHandle.memHandle;
    return there && (info->memOperationType != CU_MEM_OPERATION_TYPE_MAP ||
                     object_find(HANDLE_MEMORY, memory));
}

static CUresult map_array(CUarrayMapInfo *list, unsigned int count, CUstream stream)
{
    struct box_session *session;
    CUresult result = call_check_stream(stream, &session, &stream);
    if (result == CUDA_SUCCESS && (!list || !count))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; result == CUDA_SUCCESS && i < count; i++)
        if (!is_possible(&list[i]))
            result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned int done = 0; result == CUDA_SUCCESS && done < count; done += MAPPINGS_MAX) {
        unsigned int now = count - done < MAPPINGS_MAX ? count - done : MAPPINGS_MAX;
        result = remote_cuMemMapArrayAsync(list + done, now, stream);
    }
    return result;
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
    return map_array(mapInfoList, count, hStream);
}

CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream)
{
    return map_array(mapInfoList, count, stream_per_thread(hStream));
}
