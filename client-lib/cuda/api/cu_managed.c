// SPDX-License-Identifier: BSD-3-Clause
// Managed memory: allocating it, attaching it to streams, advice on it, and moving it ahead of use.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/managed/managed_advice.h"
#include "client-lib/cuda/managed/managed_memory.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/objects/thread.h"

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    return managed_allocate(dptr, bytesize, flags);
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags)
{
    return managed_attach(hStream, dptr, length, flags);
}

CUresult cuStreamAttachMemAsync_ptsz(CUstream hStream, CUdeviceptr dptr, size_t length,
                                     unsigned int flags)
{
    return managed_attach(stream_per_thread(hStream), dptr, length, flags);
}

// Converts a device number, by which older calls name a location.
static CUmemLocation cu_managed_place_of(CUdevice device)
{
    bool host = device == CU_DEVICE_CPU;
    return (CUmemLocation){.type = host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                           .id = host ? 0 : device};
}

// ---- in streams ----

// Returns an error if the stream is invalid. The driver checks it first, because it selects the
// context.
static CUresult cu_managed_check_stream(CUstream stream)
{
    struct box_session *session;
    return call_check_stream(stream, &session, &stream);
}

static CUresult cu_managed_prefetch(CUdeviceptr dptr, size_t count, CUmemLocation location,
                                    unsigned int flags, CUstream stream)
{
    CUresult result = cu_managed_check_stream(stream);
    if (result == CUDA_SUCCESS && flags)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? managed_prefetch(dptr, count, location) : result;
}

// Each location of a batch applies to the ranges from its index up to the next location's index.
static CUresult prefetch_batch(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                               CUmemLocation *places, size_t *from, size_t place_count,
                               unsigned long long flags, CUstream stream)
{
    size_t place = 0;
    CUresult result = cu_managed_check_stream(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!dptrs || !sizes || !count || !places || !from || !place_count || place_count > count ||
        from[0] || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        if (place + 1 < place_count && from[place + 1] == i)
            place++;
        result = managed_prefetch(dptrs[i], sizes[i], places[place]);
    }
    return result;
}

static CUresult discard_batch(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                              unsigned long long flags, CUstream stream)
{
    CUresult result = cu_managed_check_stream(stream);
    if (result == CUDA_SUCCESS && (!dptrs || !sizes || !count || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        result = managed_discard(dptrs[i], sizes[i]);
    return result;
}

// Defines a call in a stream and its variant for per-thread default streams; `used` is the stream.
#define IN_STREAM(name, does, ...) \
    CUresult name(__VA_ARGS__, CUstream hStream) \
    { \
        CUstream used = hStream; \
        return does; \
    } \
    CUresult name##_ptsz(__VA_ARGS__, CUstream hStream) \
    { \
        CUstream used = stream_per_thread(hStream); \
        return does; \
    }

IN_STREAM(cuMemPrefetchAsync,
          cu_managed_prefetch(devPtr, count, cu_managed_place_of(dstDevice), 0, used),
          CUdeviceptr devPtr, size_t count, CUdevice dstDevice)
IN_STREAM(cuMemPrefetchAsync_v2, cu_managed_prefetch(devPtr, count, location, flags, used),
          CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags)
IN_STREAM(cuMemPrefetchBatchAsync,
          prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                         used),
          CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
          size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags)
IN_STREAM(cuMemDiscardBatchAsync, discard_batch(dptrs, sizes, count, flags, used),
          CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags)
IN_STREAM(cuMemDiscardAndPrefetchBatchAsync,
          prefetch_batch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                         used),
          CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
          size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags)

// ---- advice and queries ----

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    return result == CUDA_SUCCESS ? managed_advise(devPtr, count, advice, location) : result;
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    return result == CUDA_SUCCESS
               ? managed_advise(devPtr, count, advice, cu_managed_place_of(device))
               : result;
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    return result == CUDA_SUCCESS ? managed_ask(data, dataSize, attribute, devPtr, count) : result;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result == CUDA_SUCCESS && (!data || !dataSizes || !attributes || !numAttributes))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; result == CUDA_SUCCESS && i < numAttributes; i++)
        result = managed_ask(data[i], dataSizes[i], attributes[i], devPtr, count);
    return result;
}
