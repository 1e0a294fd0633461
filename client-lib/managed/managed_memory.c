// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/managed/managed_memory.h"

#include "client-lib/managed/mirror.h"
#include "client-lib/objects/addresses.h"
#include "client-lib/objects/call.h"
#include "client-lib/objects/device_memory.h"
#include "client-lib/objects/thread.h"
#include "client_calls.h"

// As the driver has it, and as programs rely on, fresh managed memory is zeros on both sides.
static CUresult clear(CUdeviceptr dptr, size_t size)
{
    CUstream stream;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result == CUDA_SUCCESS)
        result = remote_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_cuMemsetD8Async(dptr, 0, size, stream);
    if (result == CUDA_SUCCESS)
        result = remote_cuStreamSynchronize(stream);
    (void)remote_cuStreamDestroy_v2(stream);
    return result;
}

CUresult managed_allocate(CUdeviceptr *dptr, size_t size, unsigned int flags)
{
    CUdeviceptr got;
    struct allocation memory;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!dptr || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    result = device_memory_allocate_managed(&got, size);
    if (result != CUDA_SUCCESS)
        return result;
    result = clear(got, size);
    if (result == CUDA_SUCCESS && !memory_find(got, &memory))
        result = CUDA_ERROR_UNKNOWN;
    struct mirror_place place = {.base = got,
                                 .size = (size + MIRROR_PAGE - 1) & ~(size_t)(MIRROR_PAGE - 1),
                                 .session = memory.session,
                                 .context = memory.context,
                                 .fresh = true};
    if (result == CUDA_SUCCESS)
        result = mirror_add(&place);
    if (result == CUDA_SUCCESS)
        *dptr = got;
    else
        (void)device_memory_free(got);
    return result;
}

void managed_forget(CUdeviceptr dptr)
{
    struct allocation memory;
    if (memory_find(dptr, &memory) && memory.managed && memory.whole && memory.base == dptr)
        (void)mirror_remove(dptr);
}

CUresult managed_attach(CUstream stream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
    struct box_session *session;
    struct allocation memory;
    bool single = flags == CU_MEM_ATTACH_SINGLE;
    CUresult result = call_check_stream(stream, &session, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!memory_find(dptr, &memory) || !memory.managed || memory.base != dptr ||
        (length && length != memory.size) ||
        (!single && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) ||
        (single && (!stream || stream == CU_STREAM_LEGACY)))
        return CUDA_ERROR_INVALID_VALUE;
    return mirror_attach(dptr, single ? (uintptr_t)stream : 0) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
}
