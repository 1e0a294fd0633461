// SPDX-License-Identifier: BSD-3-Clause
// Attributes of pointers, answered from the record of allocations, which also keeps attributes that
// the program sets.
#include <string.h>

#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/managed/mapped_host.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/memory/physical_memory.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"

// Stores the value. Returns CUDA_ERROR_INVALID_VALUE if the pointer has no such attribute.
static CUresult attribute_of(const struct allocation *a, CUpointer_attribute attribute,
                             CUdeviceptr ptr, void *data)
{
    uint64_t offset = ptr - a->base;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = a->memory ? NULL : (CUcontext)(uintptr_t)a->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)data = a->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (a->host && !a->mapped && !a->session->mirrors_on_demand)
            return CUDA_ERROR_INVALID_VALUE;
        *(CUdeviceptr *)data = a->host && a->mapped ? a->device_address + offset : ptr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!a->host && !a->managed)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)(uintptr_t)ptr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = a->id; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned int *)data = !a->host && !a->memory && !a->pool && !a->imported && !a->managed;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned int *)data = a->managed; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(unsigned int *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned int *)data = a->sync_copies;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = a->device; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = a->base; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = a->size; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned int *)data = !a->host || a->mapped || a->session->mirrors_on_demand;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = a->memory ? physical_handle_types(a->memory) : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned int *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)data = a->pool; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: *(size_t *)data = a->size; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = a->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = a->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    default: // the driver's error for an unknown attribute
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// Makes a mirror of registered memory where all memory has one. On demand this is no demand yet:
// libraries ask for all attributes of each pointer that they are given. A kernel that gets the
// address is one (host_pointers.h).
static void map_if_asked(struct allocation *memory, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && memory->host && !memory->mapped &&
        memory->session->mirrors_host && mapped_host_open((void *)(uintptr_t)ptr) == CUDA_SUCCESS)
        (void)memory_find(ptr, memory);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct allocation found;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!data || !memory_find(ptr, &found))
        return CUDA_ERROR_INVALID_VALUE;
    map_if_asked(&found, attribute, ptr);
    return attribute_of(&found, attribute, ptr, data);
}

// Returns the size of an attribute's value in bytes; 0: there is no such attribute.
static size_t answer_size(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return 4;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return 8;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS);
    }
    return 0;
}

// An address that CUDA does not know is no error here: its attributes are zero, as documented.
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr ptr)
{
    struct allocation found;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!numAttributes || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    bool known = memory_find(ptr, &found);
    for (unsigned int i = 0; i < numAttributes; i++) {
        size_t size = answer_size(attributes[i]);
        if (!data[i] || !size)
            return CUDA_ERROR_INVALID_VALUE;
        memset(data[i], 0, size);
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = -2; // the driver's value for such addresses
        if (known)
            map_if_asked(&found, attributes[i], ptr);
        if (known)
            (void)attribute_of(&found, attributes[i], ptr, data[i]);
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct allocation found;
    bool entered = false;
    CUresult result = memory_find(ptr, &found) && !found.host ? memory_enter(&found, &entered)
                                                              : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = remote_cuPointerSetAttribute(value, attribute, ptr);
    memory_leave(entered);
    if (result == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        memory_mark_sync_copies(ptr, *(const unsigned int *)value != 0);
    return result;
}
