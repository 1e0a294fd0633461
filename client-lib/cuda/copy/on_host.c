// SPDX-License-Identifier: BSD-3-Clause
// Copies within the memory of the program, and fills page-locked memory that the box does not map.
#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/copy/graph_copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/host_pointers.h"

CUresult copy_host_to_host(struct box_session *session, CUdeviceptr dst, CUdeviceptr src,
                           size_t size, CUstream stream, bool wait)
{
    CUresult result;
    if (graph_copy_wanted(session, stream, wait, &result))
        return result == CUDA_SUCCESS
                   ? graph_copy_capture_linear(session, (struct side){.address = dst},
                                               (struct side){.address = src}, size, stream)
                   : result;
    result = copy_fence(session, stream);
    if (result == CUDA_SUCCESS)
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, size);
    return result;
}

static void on_host_fill(uint8_t *to, uint32_t value, size_t element, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * element, &value, element);
}

bool fill_span(size_t pitch, size_t element, size_t width, size_t height, size_t *size)
{
    size_t row;
    return !__builtin_mul_overflow(width, element, &row) && (height == 1 || pitch >= row) &&
           !__builtin_mul_overflow(pitch, height - 1, size) &&
           !__builtin_add_overflow(*size, row, size);
}

bool fill_on_host(CUdeviceptr *dst, size_t pitch, uint32_t value, size_t element, size_t width,
                  size_t height, CUstream stream, CUresult *result)
{
    struct allocation found;
    struct box_session *session;
    CUstream resolved;
    size_t size;

    if (!width || !height)
        return false;
    if (!fill_span(pitch, element, width, height, &size) || *dst % element ||
        (height > 1 && pitch % element)) {
        *result = CUDA_ERROR_INVALID_VALUE;
        return true;
    }
    if (!memory_is_on_host(*dst, &found))
        return false;
    *result = call_check_stream(stream, &session, &resolved);
    if (*result != CUDA_SUCCESS)
        return true;
    if (size > found.size - (*dst - found.base)) {
        *result = CUDA_ERROR_INVALID_VALUE;
        return true;
    }
    if (graph_copy_wanted(session, resolved, false, result)) {
        if (*result != CUDA_SUCCESS)
            return true;
        // The graph fills it on the GPU, which gets the memory.
        *dst = host_pointers_address(*dst);
        *result = CUDA_ERROR_NOT_SUPPORTED;
        return memory_is_on_host(*dst, &found);
    }
    *result = copy_fence(session, resolved);
    for (size_t i = 0; *result == CUDA_SUCCESS && i < height; i++)
        on_host_fill((uint8_t *)(uintptr_t)*dst + i * pitch, value, element, width);
    return true;
}
