// SPDX-License-Identifier: BSD-3-Clause
// Copies of rectangles (the 2D and 3D calls).
//
// If the box maps the host side, the whole copy is one request that the GPU carries out. If the box
// accesses it by RDMA, it is one request, for which the box fetches or stores row by row. Otherwise
// rows are sent packed.
#include "client-lib/cuda/copy/rect_sides.h"

#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/copy/graph_copies.h"
#include "client-lib/cuda/copy/peer_copies.h"
#include "client-lib/cuda/copy/rect_rows.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/report/watch.h"
#include "client_calls.h"

static bool is_one_request(const struct box_session *session, const struct rect_copy *copy,
                           struct side *host)
{
    uint64_t name;
    // The box writes data that it fetches to linear addresses, so it cannot fetch for arrays.
    if ((copy->from.array || copy->to.array) && !session->memory->maps_page_locked)
        return false;
    if (copy->width < session->memory->row_min || copy->width > session->memory->row_max)
        return false;
    if (!copy_shared_name(session, (void *)(uintptr_t)host->address, rect_extent(host, copy),
                          &name))
        return false;
    host->address = name;
    return true;
}

static CUresult copy_on_host(struct box_session *session, const struct rect_copy *copy,
                             CUstream stream)
{
    CUresult result = copy_fence(session, stream);
    for (size_t plane = 0; plane < copy->depth && result == CUDA_SUCCESS; plane++)
        for (size_t row = 0; row < copy->height; row++)
            memmove((uint8_t *)(uintptr_t)copy->to.address + plane * copy->to.slice +
                        row * copy->to.pitch,
                    (uint8_t *)(uintptr_t)copy->from.address + plane * copy->from.slice +
                        row * copy->from.pitch,
                    copy->width);
    return result;
}

// The copy is between devices of two boxes.
static CUresult copy_memories(const struct allocation *to, const struct allocation *from,
                              const struct rect_copy *copy, struct box_session *session,
                              CUstream stream, bool wait)
{
    struct object *there = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)to->context);
    struct object *here = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)from->context);
    if (!there || !here)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult result = copy_between_contexts(there, here, copy, session, stream);
    return result == CUDA_SUCCESS && wait ? remote_cuStreamSynchronize(stream) : result;
}

static CUresult copy_rect(struct rect_copy *copy, const struct corner *from,
                          const struct corner *to, CUstream stream, bool wait)
{
    struct box_session *session;
    CUresult result = copy_begin(stream, &session, &stream);
    if (result != CUDA_SUCCESS || !copy->width || !copy->height || !copy->depth ||
        (result = rect_check_sides(copy, from, to)) != CUDA_SUCCESS)
        return result;
    bool captured = graph_copy_wanted(session, stream, wait, &result);
    if (result != CUDA_SUCCESS)
        return result;
    if (captured && !(copy->from.device && copy->to.device))
        return graph_copy_capture(session, copy, stream);
    if (!copy->from.device && !copy->to.device)
        return copy_on_host(session, copy, stream);

    struct allocation to_memory, from_memory;
    if (copy_crosses_boxes(copy->to.address, copy->from.address, &to_memory, &from_memory))
        return copy_memories(&to_memory, &from_memory, copy, session, stream, wait);
    struct side *host = copy->from.device ? copy->to.device ? NULL : &copy->to : &copy->from;
    if (host)
        watch_copied(host == &copy->from ? WATCH_TO_GPU : WATCH_FROM_GPU,
                     copy->width * copy->height * copy->depth,
                     memory_is_page_locked(host->address));
    if (host && !is_one_request(session, copy, host))
        return copy->from.array || copy->to.array ? array_copy_rows(session, copy, stream, wait)
                                                  : rect_copy_rows(session, copy, stream, wait);
    CUDA_MEMCPY3D request = rect_request(copy);
    result = remote_copy_3d(&request, stream);
    bool seen = host || copy->to.seen || copy->from.seen;
    return result == CUDA_SUCCESS && seen && wait ? copy_fence(session, stream) : result;
}

CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
    struct corner from, to;
    if (!c || c->srcLOD || c->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    rect_read_corners(c, &from, &to);
    struct rect_copy copy = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
    return copy_rect(&copy, &from, &to, stream, wait);
}

CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool wait)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    struct corner from = {
        c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, 0,
        c->srcPitch,      0};
    struct corner to = {
        c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, 0,
        c->dstPitch,      0};
    struct rect_copy copy = {.width = c->WidthInBytes, .height = c->Height, .depth = 1};
    return copy_rect(&copy, &from, &to, stream, wait);
}

CUresult copy_array_line(CUmemorytype to_type, struct array_line to, CUmemorytype from_type,
                         struct array_line from, size_t size, CUstream stream, bool wait)
{
    struct corner source = {.type = from_type,
                            .host = from.host,
                            .device = from.device,
                            .array = from.array,
                            .x = from.offset};
    struct corner target = {
        .type = to_type, .host = to.host, .device = to.device, .array = to.array, .x = to.offset};
    struct rect_copy copy = {.width = size, .height = 1, .depth = 1};
    return copy_rect(&copy, &source, &target, stream, wait);
}
