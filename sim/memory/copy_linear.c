// SPDX-License-Identifier: BSD-3-Clause
// Implements the calls that copy a run of bytes.

#include "sim/memory/copy.h"

static CUresult linear(uint64_t destination, CUmemorytype destination_type, uint64_t source,
                       CUmemorytype source_type, size_t size, CUstream stream,
                       enum copy_manner manner)
{
    struct copy_box box = copy_line(destination, destination_type, source, source_type, size);
    return copy_submit(stream, &box, manner);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED

SIM_DEFAULT_STREAM_API(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t size),
                       linear(to, UNIFIED, from, UNIFIED, size, stream, COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size),
                       linear(to, DEVICE, (uintptr_t)from, HOST, size, stream, COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size),
                       linear((uintptr_t)to, HOST, from, DEVICE, size, stream, COPY_SYNCHRONOUS))
SIM_DEFAULT_STREAM_API(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t size),
                       linear(to, DEVICE, from, DEVICE, size, stream, COPY_SYNCHRONOUS))

SIM_CALL(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
         linear(to, UNIFIED, from, UNIFIED, size, stream, COPY_ASYNCHRONOUS))
SIM_CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t size, CUstream stream),
         linear(to, DEVICE, (uintptr_t)from, HOST, size, stream, COPY_ASYNCHRONOUS))
SIM_CALL(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t size, CUstream stream),
         linear((uintptr_t)to, HOST, from, DEVICE, size, stream, COPY_ASYNCHRONOUS))
SIM_CALL(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
         linear(to, DEVICE, from, DEVICE, size, stream, COPY_ASYNCHRONOUS))

static CUresult with_both(CUcontext destination, CUcontext source,
                          CUresult (*check)(struct context *))
{
    struct context *a, *b;
    SIM_TRY(context_get(destination, &a));
    CUresult result = context_get(source, &b);
    if (!result) {
        result = check(a);
        if (!result)
            result = check(b);
        object_put(&b->object);
    }
    object_put(&a->object);
    return result;
}

static CUresult status_of(struct context *context)
{
    return context_status(context);
}

CUresult copy_check_peers(CUcontext destination, CUcontext source)
{
    return with_both(destination, source, status_of);
}

CUresult copy_settle_peers(CUcontext destination, CUcontext source)
{
    return with_both(destination, source, context_finish_work);
}

static CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                     size_t size, CUstream stream, enum copy_manner manner)
{
    SIM_TRY(copy_check_peers(to_context, from_context));
    if (manner == COPY_SYNCHRONOUS)
        SIM_TRY(copy_settle_peers(to_context, from_context));
    SIM_TRY(linear(to, DEVICE, from, DEVICE, size, stream, manner));
    return manner == COPY_SYNCHRONOUS ? copy_settle_peers(NULL, NULL) : CUDA_SUCCESS;
}

SIM_DEFAULT_STREAM_API(cuMemcpyPeer,
                       (CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                        CUcontext from_context, size_t size),
                       peer(to, to_context, from, from_context, size, stream, COPY_SYNCHRONOUS))
SIM_CALL(cuMemcpyPeerAsync,
         (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
          size_t size, CUstream stream),
         peer(to, to_context, from, from_context, size, stream, COPY_ASYNCHRONOUS))

// Returns the attributes of copy `index`: the last ones whose first index is not above it.
static const CUmemcpyAttributes *copy_linear_attributes_of(size_t index,
                                                           const CUmemcpyAttributes *attributes,
                                                           const size_t *first, size_t count)
{
    size_t at = 0;
    while (at + 1 < count && first[at + 1] <= index)
        at++;
    return &attributes[at];
}

static CUresult check_batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *first, size_t attribute_count,
                            CUstream stream)
{
    SIM_RETURN_IF(!to || !from || !sizes || !count || !attributes || !first || !attribute_count ||
                      attribute_count > count || first[0] != 0,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!stream || stream == CU_STREAM_LEGACY, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < attribute_count; i++) {
        CUmemcpySrcAccessOrder order = attributes[i].srcAccessOrder;
        SIM_RETURN_IF(order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
                          order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
                      CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(i && (first[i] <= first[i - 1] || first[i] >= count),
                      CUDA_ERROR_INVALID_VALUE);
    }
    return CUDA_SUCCESS;
}

SIM_API(cuMemcpyBatchAsync, CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
        CUmemcpyAttributes *attributes, size_t *first, size_t attribute_count, size_t *failed,
        CUstream stream)
{
    SIM_TRY(sim_check_ready());
    if (failed)
        *failed = SIZE_MAX;
    SIM_TRY(check_batch(to, from, sizes, count, attributes, first, attribute_count, stream));
    for (size_t i = 0; i < count; i++) {
        const CUmemcpyAttributes *how =
            copy_linear_attributes_of(i, attributes, first, attribute_count);
        enum copy_manner manner = how->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
                                      ? COPY_STREAM_ORDER
                                      : COPY_ASYNCHRONOUS;
        CUresult result = linear(to[i], UNIFIED, from[i], UNIFIED, sizes[i], stream, manner);
        if (result && failed)
            *failed = i;
        SIM_TRY(result);
    }
    return CUDA_SUCCESS;
}
