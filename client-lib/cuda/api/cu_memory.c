// SPDX-License-Identifier: BSD-3-Clause
// Memory management: allocations on devices and of page-locked host memory.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/managed/managed_memory.h"
#include "client-lib/cuda/managed/mapped_host.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/memory/kept_memory.h"
#include "client-lib/cuda/memory/host_slabs.h"
#include "client-lib/cuda/objects/out_of_reach.h"
#include "client-lib/cuda/memory/page_locked.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/base/clock.h"

// The box's latest answer to this thread. It holds for FIGURES_NS if the process sends no request
// meanwhile: what other processes allocate shows that much later.
enum { FIGURES_NS = 1000000 };
static __thread struct memory_figures {
    uint64_t context, requests, when;
    size_t available, total;
} figures;

static bool cu_memory_figures_hold(const struct object *context)
{
    return figures.context == context->handle && context_is_sound(context) &&
           figures.requests == atomic_load(&context->session->requests) &&
           clock_ns() - figures.when < FIGURES_NS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    size_t kept = kept_bytes(context->ctx.device);
    if (!cu_memory_figures_hold(context)) {
        uint64_t requests = atomic_load(&context->session->requests);
        result = remote_cuMemGetInfo_v2(&figures.available, &figures.total);
        figures.context = result == CUDA_SUCCESS ? context->handle : 0;
        figures.requests = requests + 1;
        figures.when = clock_ns();
    }
    if (result == CUDA_SUCCESS && free)
        *free = figures.available + kept;
    if (result == CUDA_SUCCESS && total)
        *total = figures.total;
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    CUresult ready = process_ready();
    if (!dptr || ready != CUDA_SUCCESS)
        return ready;
    return managed_free(dptr, &ready) ? ready : device_memory_free(dptr);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct object *context;
    struct allocation found;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!memory_find(dptr, &found))
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = found.base;
    if (psize)
        *psize = found.size;
    return CUDA_SUCCESS;
}

// ---- page-locked host memory ----

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int flags)
{
    unsigned int known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                         CU_MEMHOSTALLOC_WRITECOMBINED;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pp || (flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;
    if (!bytesize) { // no memory, as a NULL pointer that cuMemFreeHost accepts
        *pp = NULL;
        return CUDA_SUCCESS;
    }
    host_pointers_serve(mapped_host_open);
    return context->session->mirrors_host ? mapped_host_allocate(context, bytesize, flags, pp)
                                          : host_memory_allocate(context, bytesize, flags, pp);
}

// The memory belongs to its own context, which need not be current.
CUresult cuMemFreeHost(void *p)
{
    CUresult ready = process_ready();
    if (!p || ready != CUDA_SUCCESS)
        return ready;
    return mapped_host_release(p, false, &ready) ? ready : host_memory_free(p);
}

CUresult cuMemHostUnregister(void *p)
{
    struct allocation found;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!p || (memory_find((uintptr_t)p, &found) && found.host && !found.registered))
        return CUDA_ERROR_INVALID_VALUE;
    return mapped_host_release(p, true, &ready) ? ready : page_locked_unregister(p);
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int flags)
{
    unsigned int known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                         CU_MEMHOSTREGISTER_READ_ONLY;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!p || !bytesize || (uintptr_t)p + bytesize < (uintptr_t)p)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & ~known)
        return (flags & CU_MEMHOSTREGISTER_IOMEMORY) ? CUDA_ERROR_NOT_SUPPORTED
                                                     : CUDA_ERROR_INVALID_VALUE;
    host_pointers_serve(mapped_host_open);
    result = page_locked_register(context, p, bytesize, flags);
    // If all memory has mirrors from the beginning, the call fails if this memory can have none.
    if (result == CUDA_SUCCESS && (flags & CU_MEMHOSTREGISTER_DEVICEMAP) &&
        context->session->mirrors_host && (result = mapped_host_open(p)) != CUDA_SUCCESS)
        (void)page_locked_unregister(p);
    return result;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct object *context;
    struct allocation found;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pdptr || Flags || !memory_find((uintptr_t)p, &found) || !found.host)
        return CUDA_ERROR_INVALID_VALUE;
    if (found.session != context->session)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!found.mapped) {
        result = mapped_host_open(p);
        if (result != CUDA_SUCCESS) {
            out_of_reach_refused(found.session);
            return result;
        }
        out_of_reach_mirrored(found.session);
        (void)memory_find((uintptr_t)p, &found);
    }
    *pdptr = found.device_address + ((uintptr_t)p - found.base);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct object *context;
    struct allocation found;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pFlags || !memory_find((uintptr_t)p, &found) || !found.host || found.registered)
        return CUDA_ERROR_INVALID_VALUE;
    *pFlags = found.host_flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
