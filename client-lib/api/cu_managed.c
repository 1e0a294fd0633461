// SPDX-License-Identifier: BSD-3-Clause
// Advice on managed memory, and moving it ahead of use. There is none on remote GPUs, so that every address is one of
// other memory, to which the driver answers as is done here.
#include "client-lib/api/exports.h"
#include "client-lib/managed/managed_memory.h"
#include "client-lib/objects/call.h"
#include "client-lib/objects/stream_names.h"
#include "client-lib/objects/thread.h"

static CUresult not_managed(void)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

// What is wrong with the stream comes first; it says which context is meant, too.
static CUresult not_managed_in(CUstream stream)
{
    struct box_session *session;
    CUresult result = call_check_stream(stream, &session, &stream);
    return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

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

// A call in a stream and its variant for per-thread default streams.
#define IN_STREAM(name, ...) \
    CUresult name(__VA_ARGS__, CUstream hStream) \
    { \
        return not_managed_in(hStream); \
    } \
    CUresult name##_ptsz(__VA_ARGS__, CUstream hStream) \
    { \
        return not_managed_in(stream_per_thread(hStream)); \
    }

IN_STREAM(cuMemPrefetchAsync, CUdeviceptr devPtr, size_t count, CUdevice dstDevice)
IN_STREAM(cuMemPrefetchAsync_v2, CUdeviceptr devPtr, size_t count, CUmemLocation location,
          unsigned int flags)
IN_STREAM(cuMemPrefetchBatchAsync, CUdeviceptr *dptrs, size_t *sizes, size_t count,
          CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs,
          unsigned long long flags)
IN_STREAM(cuMemDiscardBatchAsync, CUdeviceptr *dptrs, size_t *sizes, size_t count,
          unsigned long long flags)
IN_STREAM(cuMemDiscardAndPrefetchBatchAsync, CUdeviceptr *dptrs, size_t *sizes, size_t count,
          CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs,
          unsigned long long flags)

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    return not_managed();
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location)
{
    return not_managed();
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count)
{
    return not_managed();
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
    return not_managed();
}
