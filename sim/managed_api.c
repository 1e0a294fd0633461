// SPDX-License-Identifier: BSD-3-Clause
// Managed memory. Memory of a software GPU is memory of this process, so that there is nothing to be moved: what is
// advised and prefetched is only remembered.
#include <string.h>
#include <sys/mman.h>

#include "sim/capture.h"
#include "sim/memory.h"
#include "sim/stream.h"

enum { PAGE = 4096 };

SIM_API(cuMemAllocManaged, CUdeviceptr *out, size_t size, unsigned int flags)
{
    struct context *context;
    uint64_t address;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST),
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(capture_check_unsafe());
    SIM_TRY(memory_allocate(context, size, MEMORY_MANAGED, NULL, &address));
    memset((void *)(uintptr_t)address, 0, size);
    // A child does not have it.
    madvise((void *)(uintptr_t)address, (size + PAGE - 1) & ~(size_t)(PAGE - 1), MADV_DONTFORK);
    *out = address;
    return CUDA_SUCCESS;
}

static CUresult attach(CUstream stream, CUdeviceptr address, size_t size, unsigned flags)
{
    struct memory_range range;
    bool single = flags == CU_MEM_ATTACH_SINGLE;
    struct stream *of;
    SIM_TRY(stream_get(stream, &of));
    object_put(&of->object);
    SIM_RETURN_IF(!memory_lookup(address, &range) || !memory_is_managed(&range) ||
                      range.base != address || (size && size != range.size) ||
                      (!single && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) ||
                      (single && (!stream || stream == CU_STREAM_LEGACY)),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

SIM_API(cuStreamAttachMemAsync, CUstream stream, CUdeviceptr address, size_t size, unsigned flags)
{
    return attach(stream, address, size, flags);
}

SIM_API(cuStreamAttachMemAsync_ptsz, CUstream stream, CUdeviceptr address, size_t size,
        unsigned flags)
{
    return attach(stream ? stream : CU_STREAM_PER_THREAD, address, size, flags);
}
