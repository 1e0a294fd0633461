// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/copy/peer_arrays.h"

#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/peer_copies.h"
#include "client-lib/cuda/work/detour.h"
#include "client-lib/cuda/memory/device_memory.h"
#include "client-lib/cuda/objects/thread.h"

// A step on one box: a copy between an array and the linear rows that stand in for the other side's
// array.
struct rows_work {
    CUDA_MEMCPY3D copy;
    size_t size; // of the rows
    CUdeviceptr rows;
};

// Does WORK on the box of CONTEXT, in the order of STREAM.
static CUresult on_box_of(struct object *context, CUstream stream,
                          CUresult (*work)(struct rows_work *, CUstream), struct rows_work *state)
{
    CUresult result = CUDA_SUCCESS;
    struct detour detour;
    const struct object *waiting = copy_context_of_stream(stream, &result);
    if (result != CUDA_SUCCESS)
        return result;
    if (waiting->session != context->session) {
        result = detour_begin(&detour, stream, waiting, context);
        return result == CUDA_SUCCESS ? detour_end(&detour, work(state, detour.helper)) : result;
    }
    result = thread_push_context((CUcontext)(uintptr_t)waiting->handle);
    if (result != CUDA_SUCCESS)
        return result;
    result = work(state, stream);
    thread_pop_context(NULL);
    return result;
}

static CUresult copy_there(struct rows_work *work, CUstream stream)
{
    return copy_3d(&work->copy, stream, false);
}

static CUresult peer_arrays_take_rows(struct rows_work *work, CUstream stream)
{
    return device_memory_allocate_async(&work->rows, work->size, NULL, stream);
}

static CUresult drop_rows(struct rows_work *work, CUstream stream)
{
    return device_memory_free_async(work->rows, stream);
}

static CUresult peer_arrays_gather(struct rows_work *work, CUstream stream)
{
    CUresult result = peer_arrays_take_rows(work, stream);
    if (result != CUDA_SUCCESS)
        return result;
    work->copy.dstDevice = work->rows;
    result = copy_there(work, stream);
    if (result != CUDA_SUCCESS)
        drop_rows(work, stream);
    return result;
}

static CUresult scatter(struct rows_work *work, CUstream stream)
{
    work->copy.srcDevice = work->rows;
    CUresult result = copy_there(work, stream), dropped = drop_rows(work, stream);
    return result == CUDA_SUCCESS ? dropped : result;
}

// Converts the description. Both types differ only in the members that name contexts.
static struct rows_work work_of(const CUDA_MEMCPY3D_PEER *copy, size_t size)
{
    struct rows_work work = {.size = size};
    _Static_assert(sizeof(work.copy) == sizeof(*copy), "they have the same fields otherwise");
    memcpy(&work.copy, copy, sizeof(work.copy));
    return work;
}

CUresult copy_peer_on(struct object *context, const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    struct rows_work work = work_of(copy, 0);
    return on_box_of(context, stream, copy_there, &work);
}

// Replaces one side by packed rows.
#define SET_ROWS(copy, side, address) \
    ((copy)->side##MemoryType = CU_MEMORYTYPE_DEVICE, (copy)->side##Device = (address), \
     (copy)->side##XInBytes = (copy)->side##Y = (copy)->side##Z = 0, \
     (copy)->side##Pitch = (copy)->WidthInBytes, (copy)->side##Height = (copy)->Height)

CUresult copy_peer_by_rows(const CUDA_MEMCPY3D_PEER *copy, struct object *from, struct object *to,
                           CUstream stream)
{
    size_t size = copy->WidthInBytes * copy->Height * copy->Depth;
    struct rows_work source = work_of(copy, size), target = source;
    CUDA_MEMCPY3D_PEER between = *copy;
    CUresult result = CUDA_SUCCESS, ended = CUDA_SUCCESS;
    if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        SET_ROWS(&source.copy, dst, 0);
        result = on_box_of(from, stream, peer_arrays_gather, &source);
        SET_ROWS(&between, src, source.rows);
    }
    if (result == CUDA_SUCCESS && copy->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        SET_ROWS(&target.copy, src, 0);
        result = on_box_of(to, stream, peer_arrays_take_rows, &target);
        SET_ROWS(&between, dst, target.rows);
    }
    if (result == CUDA_SUCCESS)
        result = copy_peer_3d(&between, stream, false);
    if (source.rows)
        ended = on_box_of(from, stream, drop_rows, &source);
    result = result == CUDA_SUCCESS ? ended : result;
    if (target.rows)
        ended = on_box_of(to, stream, result == CUDA_SUCCESS ? scatter : drop_rows, &target);
    return result == CUDA_SUCCESS ? ended : result;
}
