// Questions about addresses, of which the answers are numbers or handles of the session.
#include <string.h>

#include "daemon/worker/worker.h"
#include "worker_serve.h"

// Bytes of an attribute's value; 0: one that means nothing outside this process.
static size_t attribute_size(CUpointer_attribute attribute)
{
    switch (attribute) {
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
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return 4;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return 0;
    }
    return 0;
}

static int32_t ordinal_in_session(int32_t device)
{
    for (unsigned i = 0; i < session.device_count; i++)
        if (devices.list[session.ordinals[i]].handle == device)
            return (int32_t)i;
    return -2; // as the driver says where there is none
}

void serve_pointer_attribute(struct serve *serve, const struct args_pointer_attribute *args)
{
    CUpointer_attribute attribute = (CUpointer_attribute)args->attribute;
    size_t size = attribute_size(attribute);
    uint64_t value = 0;

    if (!size || args->reply_room < size)
        serve_fail(serve, size ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED);
    if (!serve_require(serve, driver.cuPointerGetAttribute))
        return;
    serve_fail(serve, driver.cuPointerGetAttribute(&value, attribute, args->address));
    if (serve_failed(serve))
        return;
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
        value = serve_handle_of(HANDLE_CONTEXT, (void *)(uintptr_t)value);
    if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
        value = serve_handle_of(HANDLE_POOL, (void *)(uintptr_t)value);
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        value = (uint32_t)ordinal_in_session((int32_t)value);
    serve_reply_bytes(serve, &value, size);
}
