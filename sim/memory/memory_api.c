// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that allocate, free and describe plain device memory.
#include "sim/engine/capture.h"
#include "sim/engine/memory.h"

#define PITCH_ELEMENTS_VALID(n) ((n) == 4 || (n) == 8 || (n) == 16)

SIM_API(cuMemGetInfo_v2, size_t *free_bytes, size_t *total)
{
    struct context *context;
    SIM_TRY(context_require(&context));
    if (free_bytes)
        *free_bytes = device_free_memory(context->device);
    if (total)
        *total = context->device->total_memory;
    return CUDA_SUCCESS;
}

SIM_API(cuMemAlloc_v2, CUdeviceptr *out, size_t size)
{
    struct context *context;
    uint64_t address;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !size, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(memory_allocate(context, size, MEMORY_DEVICE, NULL, &address));
    *out = address;
    return CUDA_SUCCESS;
}

SIM_API(cuMemAllocPitch_v2, CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
        unsigned int element)
{
    struct context *context;
    uint64_t address;
    size_t row, size;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !pitch || !width || !height || !PITCH_ELEMENTS_VALID(element),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(width > DEVICE_MAX_PITCH, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    row = (width + DEVICE_PITCH_ALIGNMENT - 1) & ~(size_t)(DEVICE_PITCH_ALIGNMENT - 1);
    SIM_RETURN_IF(__builtin_mul_overflow(row, height, &size), CUDA_ERROR_OUT_OF_MEMORY);
    SIM_TRY(memory_allocate(context, size, MEMORY_DEVICE, NULL, &address));
    *out = address;
    *pitch = row;
    return CUDA_SUCCESS;
}

static bool memory_api_can_free(const struct memory_range *range)
{
    return range->kind == MEMORY_DEVICE || range->kind == MEMORY_POOL ||
           range->kind == MEMORY_MANAGED || (range->kind == MEMORY_IMPORTED && range->pool);
}

static CUresult free_of_graph(struct context *context, const struct memory_range *range)
{
    SIM_TRY(memory_graph_begin_free(range));
    CUresult result = context_quiesce(context);
    memory_graph_finish_free(range->base);
    return result;
}

// Waits for all earlier work, which may use the memory, as a GPU's driver does.
SIM_API(cuMemFree_v2, CUdeviceptr address)
{
    struct context *context;
    struct memory_range range;
    SIM_TRY(sim_check_ready());
    if (context_stack_top()) // the caller may have no context
        SIM_TRY(context_require(&context));
    if (!address)
        return CUDA_SUCCESS;
    SIM_TRY(capture_check_unsafe());
    if (memory_lookup_graph(address, &range))
        return free_of_graph(context, &range);
    SIM_RETURN_IF(!memory_lookup(address, &range) || range.base != address ||
                      !memory_api_can_free(&range),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(memory_synchronize_owner(&range));
    return memory_release(address, memory_api_can_free, NULL);
}

SIM_API(cuMemGetAddressRange_v2, CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    struct context *context;
    struct memory_range range;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!base && !size, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!memory_lookup(address, &range), CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = range.base;
    if (size)
        *size = range.size;
    return CUDA_SUCCESS;
}
