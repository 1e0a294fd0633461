// SPDX-License-Identifier: BSD-3-Clause
// Managed memory: allocating it, attaching it to streams, advice on it, and moving it ahead of use.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/managed/managed_advice.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"

CUmemLocation location_of_device(CUdevice device)
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

CUresult cuMemPrefetchAsync_v2(CUdeviceptr dptr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream stream)
{
    CUresult result = cu_managed_check_stream(stream);
    if (result == CUDA_SUCCESS && flags)
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? managed_prefetch(dptr, count, location) : result;
}

// Each location of a batch applies to the ranges from its index up to the next location's index.
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
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

CUresult cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                unsigned long long flags, CUstream stream)
{
    CUresult result = cu_managed_check_stream(stream);
    if (result == CUDA_SUCCESS && (!dptrs || !sizes || !count || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        result = managed_discard(dptrs[i], sizes[i]);
    return result;
}

// ---- advice and queries ----

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
