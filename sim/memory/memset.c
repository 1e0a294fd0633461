// SPDX-License-Identifier: BSD-3-Clause
// Fills memory with a value of 8, 16 or 32 bits.
#include <string.h>

#include "sim/engine/capture.h"
#include "sim/engine/memory.h"
#include "sim/engine/stream_work.h"
#include "sim/engine/work_notes.h"

#define BRIEF_BYTES ((size_t)64 << 10)

struct fill_operation {
    struct operation operation;
    uint64_t address;
    uint32_t value;
    unsigned size; // of an element: 1, 2 or 4
    size_t width;  // elements in a row
    size_t height;
    size_t pitch; // bytes
};

// Kernels may read the memory meanwhile; the program is responsible for that race.
__attribute__((no_sanitize("thread"))) static void fill_row(void *row, uint32_t value,
                                                            unsigned size, size_t count)
{
    switch (size) {
    case 1: memset(row, (int)value, count); break;
    case 2:
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)row)[i] = (uint16_t)value;
        break;
    default:
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)row)[i] = value;
    }
}

static CUresult run_fill(struct operation *operation, struct stream *stream)
{
    struct fill_operation *fill = (struct fill_operation *)operation;
    for (size_t y = 0; y < fill->height; y++)
        fill_row((char *)(uintptr_t)fill->address + y * fill->pitch, fill->value, fill->size,
                 fill->width);
    return CUDA_SUCCESS;
}

static void describe_fill(const struct operation *operation, struct work_note *note)
{
    const struct fill_operation *fill = (const struct fill_operation *)operation;
    note->kind = CUPTI_ACTIVITY_KIND_MEMSET;
    note->value = fill->value;
    note->bytes = (uint64_t)fill->width * fill->height * fill->size;
}

// Checks the fill. Sets *host if the memory is on the host, which makes the synchronous calls wait.
static CUresult memset_check(const struct fill_operation *fill, bool *host)
{
    struct memory_range range;
    size_t row, span;
    SIM_RETURN_IF(fill->address % fill->size, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(__builtin_mul_overflow(fill->width, fill->size, &row) ||
                      __builtin_mul_overflow(fill->pitch, fill->height - 1, &span) ||
                      __builtin_add_overflow(span, row, &span),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(fill->height > 1 && (fill->pitch < row || fill->pitch % fill->size),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!memory_lookup_span(fill->address, span, &range), CUDA_ERROR_INVALID_VALUE);
    *host = memory_is_host(&range);
    return CUDA_SUCCESS;
}

static CUresult memset_prepare(const CUDA_MEMSET_NODE_PARAMS_v2 *request, struct operation **out,
                               bool *host)
{
    struct fill_operation *fill = operation_create(sizeof(*fill), run_fill, operation_free);
    SIM_RETURN_IF(!fill, CUDA_ERROR_OUT_OF_MEMORY);
    fill->operation.describe = describe_fill;
    fill->address = request->dst;
    fill->value = request->value;
    fill->size = request->elementSize;
    fill->width = request->width;
    fill->height = request->height;
    fill->pitch = request->pitch;
    CUresult result = memset_check(fill, host);
    if (result) {
        operation_discard(&fill->operation);
        return result;
    }
    fill->operation.brief = fill->width * fill->height * fill->size <= BRIEF_BYTES;
    *out = &fill->operation;
    return CUDA_SUCCESS;
}

CUresult fill_prepare(const CUDA_MEMSET_NODE_PARAMS_v2 *request, struct operation **out)
{
    bool host;
    unsigned size = request->elementSize;
    SIM_RETURN_IF((size != 1 && size != 2 && size != 4) || !request->width || !request->height,
                  CUDA_ERROR_INVALID_VALUE);
    return memset_prepare(request, out, &host);
}

static CUresult memset_submit(struct stream *stream, const CUDA_MEMSET_NODE_PARAMS_v2 *request,
                              bool sync)
{
    bool host;
    struct operation *operation;
    SIM_TRY(memset_prepare(request, &operation, &host));
    if (sync && host)
        return stream_run(stream, operation);
    return stream_submit(stream, operation, NULL);
}

static CUresult memset_capture(struct stream *stream, const CUDA_MEMSET_NODE_PARAMS_v2 *request,
                               bool sync)
{
    struct capture_item item = {.params = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = *request}};
    return sync ? capture_refuse(stream) : capture_add(stream, &item);
}

static CUresult fill_memory(CUdeviceptr address, size_t pitch, uint32_t value, unsigned size,
                            size_t width, size_t height, CUstream handle, bool sync)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUDA_MEMSET_NODE_PARAMS_v2 request = {.dst = address,
                                          .pitch = pitch,
                                          .value = value,
                                          .elementSize = size,
                                          .width = width,
                                          .height = height,
                                          .ctx = object_handle(&stream->context->object)};
    CUresult result = CUDA_SUCCESS;
    if (capture_contains(stream))
        result = memset_capture(stream, &request, sync);
    else if (width && height)
        result = memset_submit(stream, &request, sync);
    return result;
}

#define FILL_CALLS(bits, type) \
    SIM_DEFAULT_STREAM_API(cuMemsetD##bits##_v2, (CUdeviceptr to, type value, size_t count), \
                           fill_memory(to, 0, value, bits / 8, count, 1, stream, true)) \
    SIM_CALL(cuMemsetD##bits##Async, (CUdeviceptr to, type value, size_t count, CUstream stream), \
             fill_memory(to, 0, value, bits / 8, count, 1, stream, false)) \
    SIM_DEFAULT_STREAM_API(cuMemsetD2D##bits##_v2, \
                           (CUdeviceptr to, size_t pitch, type value, size_t width, \
                            size_t height), \
                           fill_memory(to, pitch, value, bits / 8, width, height, stream, true)) \
    SIM_CALL(cuMemsetD2D##bits##Async, \
             (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
              CUstream stream), \
             fill_memory(to, pitch, value, bits / 8, width, height, stream, false))

FILL_CALLS(8, unsigned char)
FILL_CALLS(16, unsigned short)
FILL_CALLS(32, unsigned int)
