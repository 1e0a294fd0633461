// SPDX-License-Identifier: BSD-3-Clause
// Copies between devices, of one box or of two.
#include <stdlib.h>

#include "client-lib/move/copies.h"
#include "client-lib/move/flags.h"
#include "client-lib/move/rect_sides.h"
#include "client-lib/objects/contexts.h"
#include "client-lib/objects/thread.h"
#include "client_calls.h"

static struct object *context_or_current(CUcontext ctx, CUresult *result)
{
    struct object *object = NULL;
    if (ctx)
        object = object_find(HANDLE_CONTEXT, ctx);
    else
        *result = thread_context_object(&object);
    if (ctx && !object)
        *result = CUDA_ERROR_INVALID_CONTEXT;
    return object;
}

// Between two boxes the data passes through this process, in order with both sides' default
// streams.
static CUresult copy_between_boxes(struct object *to, CUdeviceptr dst, struct object *from,
                                   CUdeviceptr src, size_t size)
{
    size_t chunk = size < 8 * WIRE_BLOCK_SIZE ? size : 8 * WIRE_BLOCK_SIZE;
    uint8_t *buffer = malloc(chunk);
    CUresult result = buffer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t done = 0; done < size && result == CUDA_SUCCESS; done += chunk) {
        size_t now = size - done < chunk ? size - done : chunk;
        result = thread_push_context((CUcontext)(uintptr_t)from->handle);
        if (result != CUDA_SUCCESS)
            break;
        result = copy_device_to_host(from->session, buffer, src + done, now, NULL, true);
        thread_pop_context(NULL);
        if (result != CUDA_SUCCESS)
            break;
        result = thread_push_context((CUcontext)(uintptr_t)to->handle);
        if (result != CUDA_SUCCESS)
            break;
        result = copy_host_to_device(to->session, dst + done, buffer, now, NULL, true);
        thread_pop_context(NULL);
    }
    free(buffer);
    return result;
}

static CUresult copy_peer_rect(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
    struct box_session *session;
    CUstream resolved;
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = copy_begin(stream, &session, &resolved);
    if (result != CUDA_SUCCESS)
        return result;
    struct object *from = context_or_current(c->srcContext, &result);
    struct object *to = context_or_current(c->dstContext, &result);
    if (result != CUDA_SUCCESS)
        return result;
    struct rect_copy copy = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
    struct corner source = {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes,
                            c->srcY,          c->srcZ,    c->srcPitch,  c->srcHeight};
    struct corner target = {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes,
                            c->dstY,          c->dstZ,    c->dstPitch,  c->dstHeight};
    if (!copy.width || !copy.height || !copy.depth)
        return CUDA_SUCCESS;
    if ((result = rect_side(&source, &copy, &copy.from)) != CUDA_SUCCESS ||
        (result = rect_side(&target, &copy, &copy.to)) != CUDA_SUCCESS ||
        (result = rect_check_side(&copy.from, &copy)) != CUDA_SUCCESS ||
        (result = rect_check_side(&copy.to, &copy)) != CUDA_SUCCESS)
        return result;
    if (!copy.from.device || !copy.to.device)
        return CUDA_ERROR_NOT_SUPPORTED; // a copy between devices, by its contexts
    if (from->session == to->session) {
        CUDA_MEMCPY3D request = rect_request(&copy);
        return remote_copy_peer_3d(&request, (CUcontext)(uintptr_t)to->handle,
                                   (CUcontext)(uintptr_t)from->handle, resolved);
    }
    result = copy_fence(session, resolved);
    for (size_t z = 0; z < copy.depth && result == CUDA_SUCCESS; z++)
        for (size_t y = 0; y < copy.height && result == CUDA_SUCCESS; y++)
            result = copy_between_boxes(
                to, copy.to.address + z * copy.to.slice + y * copy.to.pitch, from,
                copy.from.address + z * copy.from.slice + y * copy.from.pitch, copy.width);
    return result;
}

// The calls without "Async" are serial with all work of both contexts, which a copy on a stream of
// one of them is not.
static CUresult copy_peer_serial(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
    CUresult result;
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    if ((result = context_synchronize(c->srcContext)) != CUDA_SUCCESS ||
        (result = context_synchronize(c->dstContext)) != CUDA_SUCCESS ||
        (result = copy_peer_rect(c, stream)) != CUDA_SUCCESS)
        return result;
    return remote_cuStreamSynchronize(stream);
}

CUresult copy_peer_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool serial)
{
    return serial ? copy_peer_serial(copy, stream) : copy_peer_rect(copy, stream);
}

CUresult copy_peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                   size_t size, CUstream stream, bool serial)
{
    CUDA_MEMCPY3D_PEER copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = src,
        .srcContext = src_ctx,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = dst,
        .dstContext = dst_ctx,
        .WidthInBytes = size,
        .Height = 1,
        .Depth = 1,
    };
    return copy_peer_3d(&copy, stream, serial);
}
