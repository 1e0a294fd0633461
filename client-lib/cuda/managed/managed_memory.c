// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/managed_memory.h"

#include "client-lib/cuda/managed/managed_advice.h"
#include "client-lib/cuda/managed/managed_block.h"
#include "client-lib/cuda/managed/managed_slabs.h"
#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/managed/quiet.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/thread.h"

static CUresult managed_memory_take(size_t size, struct allocation *memory)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (size <= SLAB_PIECE_MAX)
        result = slab_take(size, memory);
    // When memory is short, a block for the piece alone may still fit.
    return result == CUDA_ERROR_OUT_OF_MEMORY ? managed_block_make(size, memory) : result;
}

static CUresult managed_memory_give(const struct allocation *memory)
{
    if (memory->whole)
        return device_memory_give_pages(memory);
    // Waits for the GPU as cuMemFree does, so that old work cannot disturb the next owner of this
    // memory.
    quiet_await(memory->session, memory->context, 0);
    slab_give(memory);
    return CUDA_SUCCESS;
}

CUresult managed_allocate(CUdeviceptr *dptr, size_t size, unsigned int flags)
{
    struct allocation memory;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!dptr || !size || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    result = managed_memory_take(size, &memory);
    if (result == CUDA_SUCCESS && memory_add(&memory)) {
        (void)managed_memory_give(&memory);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS)
        *dptr = memory.base;
    return result;
}

bool managed_free(CUdeviceptr dptr, CUresult *result)
{
    struct allocation memory;
    if (!before_work_duties() || !memory_find(dptr, &memory) || !memory.managed ||
        memory.of_module || memory.base != dptr || !memory_remove(dptr, &memory))
        return false;
    managed_advice_forget(memory.base, memory.size);
    *result = managed_memory_give(&memory);
    return true;
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
    if (!memory
             // Shares its mirror with other pieces: the mirror stays attached to all streams, which
             // is stricter than requested.
             .whole)
        return CUDA_SUCCESS;
    return mirror_attach(dptr, single ? (uintptr_t)stream : 0) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
}
