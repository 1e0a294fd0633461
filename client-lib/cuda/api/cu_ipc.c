// SPDX-License-Identifier: BSD-3-Clause
// Memory and events between processes.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/memory/opened_memory.h"

// Returns the error for other types: types of a fabric or another system are valid but not
// supported, all others are invalid.
static CUresult refuse_type(CUmemAllocationHandleType type)
{
    switch ((unsigned int)type) {
    case CU_MEM_HANDLE_TYPE_WIN32:
    case CU_MEM_HANDLE_TYPE_WIN32_KMT:
    case CU_MEM_HANDLE_TYPE_FABRIC: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                        CUmemAllocationHandleType shHandleType)
{
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    return shHandleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? physical_import((int)(intptr_t)osHandle, handle)
               : refuse_type(shHandleType);
}
