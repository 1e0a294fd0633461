// SPDX-License-Identifier: BSD-3-Clause
// Copies whose direction follows from the addresses.
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/copy/peer_copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client_calls.h"

// Copies on the GPU. SESSION is not NULL if this must wait for the end of the copy, because the
// program can read or write the memory without a call.
static CUresult on_gpu(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream,
                       struct box_session *session)
{
    CUresult result = remote_cuMemcpyDtoDAsync_v2(dst, src, size, stream);
    return result == CUDA_SUCCESS && session ? copy_fence(session, stream) : result;
}

// Returns true if the program can access the memory without a call.
static bool is_seen(const struct allocation *memory)
{
    return memory->managed || memory->mirrored;
}

CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait)
{
    struct allocation to, from;
    struct box_session *session;
    CUstream resolved;
    CUresult result = copy_begin(stream, &session, &resolved);
    if (result != CUDA_SUCCESS || !size)
        return result;
    uint64_t to_address = dst, from_address = src;
    bool to_gpu = memory_on_gpu(&to_address, &to), from_gpu = memory_on_gpu(&from_address, &from);
    dst = to_gpu ? to_address : dst;
    src = from_gpu ? from_address : src;
    if (to_gpu && from_gpu && to.session != from.session)
        return copy_peer(dst, (CUcontext)(uintptr_t)to.context, src,
                         (CUcontext)(uintptr_t)from.context, size, stream, wait);
    if (to_gpu && from_gpu &&
        (!memory_find_span(dst, size, &to) || !memory_find_span(src, size, &from)))
        return CUDA_ERROR_INVALID_VALUE;
    if (to_gpu && from_gpu)
        return on_gpu(dst, src, size, stream,
                      wait && (is_seen(&to) || is_seen(&from)) ? session : NULL);
    if (to_gpu)
        return copy_to_device(dst, (const void *)(uintptr_t)src, size, stream, wait);
    if (from_gpu)
        return copy_from_device((void *)(uintptr_t)dst, src, size, stream, wait);
    return copy_host_to_host(session, dst, src, size, resolved, wait);
}

CUresult copy_on_devices(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream, bool wait)
{
    struct allocation to, from;
    return copy_crosses_boxes(dst, src, &to, &from)
               ? copy_unified(dst, src, size, stream, wait)
               : remote_cuMemcpyDtoDAsync_v2(dst, src, size, stream);
}

// Returns true if HOST is memory of a GPU that the program can read, or mirrored memory, and DEVICE
// is memory of a GPU.
static bool is_seen_here(const void *host, CUdeviceptr device, size_t size)
{
    struct allocation found;
    return before_work_duties() && memory_find((uintptr_t)host, &found) && is_seen(&found) &&
           memory_find_span(device, size, &found);
}

CUresult copy_in(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait)
{
    return is_seen_here(src, dst, size) ? copy_unified(dst, (uintptr_t)src, size, stream, wait)
                                        : copy_to_device(dst, src, size, stream, wait);
}

CUresult copy_out(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait)
{
    return is_seen_here(dst, src, size) ? copy_unified((uintptr_t)dst, src, size, stream, wait)
                                        : copy_from_device(dst, src, size, stream, wait);
}
