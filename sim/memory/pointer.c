// SPDX-License-Identifier: BSD-3-Clause
// Implements queries about a pointer: its allocation, and attributes.
#include <string.h>

#include "sim/engine/memory.h"
#include "sim/engine/memory_pool.h"

static CUresult pointer_put_number(void *data, uint64_t value, size_t size)
{
    memcpy(data, &value, size);
    return CUDA_SUCCESS;
}

// Answers queries of an unknown address; only some attributes have a value.
static CUresult unknown_address(void *data, CUpointer_attribute attribute)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return pointer_put_number(data, (uint32_t)CU_DEVICE_INVALID, sizeof(int));
    case CU_POINTER_ATTRIBUTE_MAPPED: return pointer_put_number(data, 0, sizeof(int));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return pointer_put_number(data, 0, sizeof(int));
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static size_t whole_pages(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

static CUresult pointer_describe(void *data, CUpointer_attribute attribute, CUdeviceptr address,
                                 const struct memory_range *range)
{
    bool host = memory_is_host(range);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return pointer_put_number(data, range->owner, sizeof(CUcontext));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return pointer_put_number(data, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                                  sizeof(int));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return pointer_put_number(data, address, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        SIM_RETURN_IF(!host && !memory_is_managed(range), CUDA_ERROR_INVALID_VALUE);
        return pointer_put_number(data, address, sizeof(void *));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return pointer_put_number(data, range->sync_copies, sizeof(int));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return pointer_put_number(data, range->id, sizeof(uint64_t));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return pointer_put_number(data, (uint64_t)range->device->index, sizeof(int));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return pointer_put_number(data, range->base, sizeof(CUdeviceptr));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return pointer_put_number(data, range->size, sizeof(size_t));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return pointer_put_number(data,
                                  memory_is_managed(range) ? whole_pages(range->size) : range->size,
                                  sizeof(size_t));
    case CU_POINTER_ATTRIBUTE_MAPPED: return pointer_put_number(data, 1, sizeof(int));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return pointer_put_number(data, range->handle_types, sizeof(uint64_t));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return pointer_put_number(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE, sizeof(int));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return pointer_put_number(data, range->pool ? (uintptr_t)pool_handle(range->pool) : 0,
                                  sizeof(CUmemoryPool));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return pointer_put_number(data, memory_is_managed(range), sizeof(int));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return pointer_put_number(data, 0, sizeof(int));
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuPointerGetAttribute, void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct memory_range range;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!data, CUDA_ERROR_INVALID_VALUE);
    if (!memory_lookup(address, &range))
        return unknown_address(data, attribute);
    return pointer_describe(data, attribute, address, &range);
}

// Booleans are as wide as the CUDA runtime expects them.
static size_t pointer_attribute_size(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return sizeof(int);
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
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return sizeof(uint64_t);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS);
    }
    return 0;
}

// Unlike in cuPointerGetAttribute, an attribute without a value is set to zero and is no error.
SIM_API(cuPointerGetAttributes, unsigned int count, CUpointer_attribute *attributes, void **data,
        CUdeviceptr address)
{
    struct memory_range range;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!count || !attributes || !data, CUDA_ERROR_INVALID_VALUE);
    bool known = memory_lookup(address, &range);
    for (unsigned i = 0; i < count; i++) {
        size_t size = pointer_attribute_size(attributes[i]);
        SIM_RETURN_IF(!size || !data[i], CUDA_ERROR_INVALID_VALUE);
        memset(data[i], 0, size);
        if (known)
            pointer_describe(data[i], attributes[i], address, &range);
        else
            unknown_address(data[i], attributes[i]);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuPointerSetAttribute, const void *value, CUpointer_attribute attribute,
        CUdeviceptr address)
{
    struct context *context;
    struct memory_range range;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!memory_lookup(address, &range) || memory_is_host(&range),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(range.kind == MEMORY_MAPPED, CUDA_ERROR_NOT_SUPPORTED); // as driver 580
    memory_set_sync_copies(address, *(const unsigned *)value != 0);
    return CUDA_SUCCESS;
}
