// SPDX-License-Identifier: BSD-3-Clause
// Copies between devices, of one box or of two.
#include "client-lib/cuda/copy/awaited_ends.h"
#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/graph_copies.h"
#include "client-lib/cuda/copy/peer_arrays.h"
#include "client-lib/cuda/copy/peer_copies.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/work/detour.h"
#include "client-lib/cuda/memory/peers.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"
#include "common/base/log.h"

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

const struct object *copy_context_of_stream(CUstream stream, CUresult *result)
{
    const struct object *object = object_find(HANDLE_STREAM, stream);
    struct object *context = NULL;
    if (object)
        context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)object->context);
    else
        *result = thread_context_object(&context);
    if (!context && *result == CUDA_SUCCESS)
        *result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context;
}

static struct peer_side peer_side(struct object *context, const struct side *side)
{
    return (struct peer_side){context, side->address, side->pitch, side->slice};
}

// Copies piece by piece: one piece for each mapping of the other box's memory on the stream's GPU,
// since mappings are not contiguous.
static CUresult copy_linear(struct peer_copy copy, CUstream stream, const struct object *waiting)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t left = copy.width; left && result == CUDA_SUCCESS; left -= copy.width) {
        struct peer_copy part = copy;
        uint64_t reached = peers_reach(&part, waiting);
        copy.width = reached && reached < left ? reached : left;
        part.width = copy.width;
        result = reached ? remote_cuMemcpyDtoDAsync_v2(part.to.address, part.from.address,
                                                       part.width, stream)
                         : peers_copy(&part, stream, waiting);
        copy.from.address += copy.width;
        copy.to.address += copy.width;
    }
    return result;
}

static bool is_reached(struct peer_copy *copy, const struct object *waiting)
{
    const struct peer_side *other = copy->from.context->session == waiting->session ? &copy->to
                                                                                    : &copy->from;
    uint64_t size = peer_side_extent(other, copy);
    struct peer_copy seen = *copy;
    if (peers_reach(&seen, waiting) < size)
        return false;
    *copy = seen;
    return true;
}

// STREAM belongs to a box of one of the two sides, and to the context WAITING.
static CUresult copy_near(struct object *to, struct object *from, const struct rect_copy *copy,
                          CUstream stream, const struct object *waiting)
{
    CUDA_MEMCPY3D request = rect_request(copy);
    struct peer_copy between = {.from = peer_side(from, &copy->from),
                                .to = peer_side(to, &copy->to),
                                .width = copy->width,
                                .height = copy->height,
                                .depth = copy->depth};
    if (from->session == to->session)
        return remote_copy_peer_3d(&request, (CUcontext)(uintptr_t)to->handle,
                                   (CUcontext)(uintptr_t)from->handle, stream);
    if (copy->height == 1 && copy->depth == 1)
        return copy_linear(between, stream, waiting);
    if (!is_reached(&between, waiting))
        return peers_copy(&between, stream, waiting);
    request.srcDevice = between.from.address;
    request.dstDevice = between.to.address;
    return remote_copy_3d(&request, stream);
}

// No graph can copy between two boxes.
static CUresult peer_refuse_capture(struct box_session *session, CUstream stream)
{
    CUresult result;
    if (!graph_copy_wanted(session, stream, false, &result))
        return CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        return result;
    log_error("a copy between two boxes cannot be captured into a graph, which belongs to one of "
              "them box=%s",
              session->box);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult copy_between_contexts(struct object *to, struct object *from, const struct rect_copy *copy,
                               struct box_session *session, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    struct detour detour;
    if (from->session == to->session && session == to->session)
        return copy_near(to, from, copy, stream, NULL);
    const struct object *waiting = copy_context_of_stream(stream, &result);
    if (result == CUDA_SUCCESS)
        result = before_work_sent(to->session, to->handle, 0);
    if (result == CUDA_SUCCESS)
        result = before_work_sent(from->session, from->handle, 0);
    if (result == CUDA_SUCCESS)
        result = peer_refuse_capture(session, stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (session == from->session || session == to->session)
        return copy_near(to, from, copy, stream, waiting);
    result = detour_begin(&detour, stream, waiting, from);
    if (result != CUDA_SUCCESS)
        return result;
    return detour_end(&detour, copy_near(to, from, copy, detour.helper, from));
}

static bool is_host(const struct corner *corner, const struct rect_copy *copy)
{
    struct side side;
    return corner->type != CU_MEMORYTYPE_ARRAY && rect_side(corner, copy, &side) == CUDA_SUCCESS &&
           !side.device;
}

// Copies between two sides. A side's context matters only for GPU memory. If a side is the
// program's memory, this is an ordinary copy on the box of the other side.
static CUresult copy_sides(const CUDA_MEMCPY3D_PEER *c, struct object *from, struct object *to,
                           struct rect_copy *copy, const struct corner *source,
                           const struct corner *target, struct box_session *session,
                           CUstream stream)
{
    bool arrays = source->type == CU_MEMORYTYPE_ARRAY || target->type == CU_MEMORYTYPE_ARRAY;
    CUresult result;
    if (is_host(source, copy) || is_host(target, copy))
        return copy_peer_on(is_host(target, copy) ? from : to, c, stream);
    if (arrays && from->session != to->session)
        return copy_peer_by_rows(c, from, to, stream);
    if (arrays && from->session != session)
        return copy_peer_on(from, c, stream);
    if ((result = rect_side(source, copy, &copy->from)) != CUDA_SUCCESS ||
        (result = rect_side(target, copy, &copy->to)) != CUDA_SUCCESS ||
        (result = rect_check_side(&copy->from, copy)) != CUDA_SUCCESS ||
        (result = rect_check_side(&copy->to, copy)) != CUDA_SUCCESS)
        return result;
    return copy_between_contexts(to, from, copy, session, stream);
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
    struct corner source = {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes,
                            c->srcY,          c->srcZ,    c->srcPitch,  c->srcHeight};
    struct corner target = {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes,
                            c->dstY,          c->dstZ,    c->dstPitch,  c->dstHeight};
    if (!copy.width || !copy.height || !copy.depth)
        return CUDA_SUCCESS;
    return copy_sides(c, from, to, &copy, &source, &target, session, resolved);
}

// The calls without "Async" are serial with all work of both contexts. A stream of one context does
// not give that order, so this waits for both.
static CUresult copy_peer_serial(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
    CUresult result;
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    if ((result = context_within(c->srcContext, sync_context)) != CUDA_SUCCESS ||
        (result = context_within(c->dstContext, sync_context)) != CUDA_SUCCESS ||
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

bool copy_crosses_boxes(CUdeviceptr dst, CUdeviceptr src, struct allocation *to,
                        struct allocation *from)
{
    return session_count > 1 && memory_find(dst, to) && !to->host && memory_find(src, from) &&
           !from->host && to->session != from->session;
}
