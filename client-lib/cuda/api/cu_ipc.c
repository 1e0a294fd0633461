// SPDX-License-Identifier: BSD-3-Clause
// Memory and events between processes.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/memory/opened_memory.h"

CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    return pHandle ? allocation_share(dptr, pHandle) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult open_handle(CUdeviceptr *pdptr, const CUipcMemHandle *handle, unsigned int flags)
{
    return pdptr && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ? allocation_open(handle, pdptr)
                                                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return open_handle(pdptr, &handle, Flags);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return open_handle(pdptr, &handle, Flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    return allocation_close(dptr);
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    return pHandle ? event_share(event, pHandle) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    return phEvent ? event_open(&handle, phEvent) : CUDA_ERROR_INVALID_VALUE;
}

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

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags)
{
    if (!shareableHandle || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
               ? physical_export(handle, shareableHandle)
               : CUDA_ERROR_INVALID_VALUE; // no memory here can have other types
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
