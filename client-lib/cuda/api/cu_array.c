// SPDX-License-Identifier: BSD-3-Clause
// Arrays and mipmapped arrays: making, describing and ending them, and memory that is mapped to
// them.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/memory/arrays.h"
#include "client-lib/cuda/objects/call.h"
#include "client_calls.h"

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

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUresult result = process_ready();
    if (result == CUDA_SUCCESS && !pArrayDescriptor)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = array_describe(hArray, &descriptor);
    if (result == CUDA_SUCCESS)
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = descriptor.Width,
                                                    .Height = descriptor.Height,
                                                    .Format = descriptor.Format,
                                                    .NumChannels = descriptor.NumChannels};
    return result;
}

// ---- memory that is mapped later ----

CUresult array_answer(CUresult result)
{
    return result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                   result == CUDA_ERROR_INVALID_DEVICE
               ? CUDA_ERROR_INVALID_VALUE
               : result;
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

CUresult cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream stream)
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
