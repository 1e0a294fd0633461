// SPDX-License-Identifier: BSD-3-Clause
// Copies of rectangles (the 2D and 3D calls).
//
// Where the host side is shared with the box, the whole copy is one request that the GPU carries
// out; where the box reaches it, one that the box fetches or stores row by row. Otherwise rows travel
// packed, in staging blocks or as many as fit a record, and wide rows as linear copies.
#include "client-lib/move/rect_sides.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/move/copies.h"
#include "client-lib/move/flags.h"
#include "client-lib/move/graph_copies.h"
#include "client-lib/move/peer_copies.h"
#include "client-lib/objects/addresses.h"
#include "client-lib/report/watch.h"
#include "client-lib/session/staging_blocks.h"
#include "client-lib/session/waiting.h"
#include "client_calls.h"

static CUresult rows_to_device(struct box_session *session, const struct side *from,
                               const struct side *to, size_t width, size_t rows, CUstream stream,
                               uint8_t *packed)
{
    for (size_t row = 0; row < rows; row++)
        memcpy(packed + row * width, (const uint8_t *)(uintptr_t)from->address + row * from->pitch,
               width);
    return remote_write_rows(to->address, to->pitch, width, rows, stream, packed, rows * width);
}

static CUresult rows_from_device(struct box_session *session, const struct side *from,
                                 const struct side *to, size_t width, size_t rows, CUstream stream,
                                 uint8_t *packed)
{
    size_t used = 0;
    CUresult result = remote_read_rows(from->address, from->pitch, width, rows, stream, packed,
                                       rows * width, &used);
    for (size_t row = 0; result == CUDA_SUCCESS && row < rows; row++)
        memcpy((uint8_t *)(uintptr_t)to->address + row * to->pitch, packed + row * width, width);
    return result;
}

// One plane between the program's own memory and the GPU.
static CUresult copy_plane(struct box_session *session, const struct rect_copy *copy, size_t plane,
                           CUstream stream, uint8_t *packed)
{
    struct side from = copy->from, to = copy->to;
    from.address += plane * from.slice;
    to.address += plane * to.slice;
    bool wide = copy->width > WIRE_INLINE_MAX;
    size_t group = wide ? 1 : WIRE_INLINE_MAX / copy->width;
    CUresult result = CUDA_SUCCESS;
    for (size_t row = 0; row < copy->height && result == CUDA_SUCCESS; row += group) {
        size_t rows = copy->height - row < group ? copy->height - row : group;
        if (wide && to.device)
            result = copy_host_to_device(session, to.address, (void *)(uintptr_t)from.address,
                                         copy->width, stream, true);
        else if (wide)
            result = copy_device_to_host(session, (void *)(uintptr_t)to.address, from.address,
                                         copy->width, stream, true);
        else if (to.device)
            result = rows_to_device(session, &from, &to, copy->width, rows, stream, packed);
        else
            result = rows_from_device(session, &from, &to, copy->width, rows, stream, packed);
        from.address += rows * from.pitch;
        to.address += rows * to.pitch;
    }
    return result;
}

static bool is_one_request(const struct box_session *session, const struct rect_copy *copy,
                           struct side *host)
{
    uint64_t name;
    if (copy->width < session->memory->row_min || copy->width > session->memory->row_max)
        return false;
    if (!copy_shared_name(session, (void *)(uintptr_t)host->address, rect_extent(host, copy),
                          &name))
        return false;
    host->address = name;
    return true;
}

// What is packed here is read now; page-locked memory is to be read when the stream is there.
static CUresult await_source(struct box_session *session, const struct rect_copy *copy,
                             CUstream stream)
{
    struct allocation found;
    bool written = session->memory->reaches_page_locked || session_expecting(session) ||
                   staging_owed(session);
    if (!written || copy->from.device || !memory_find(copy->from.address, &found) || !found.host)
        return CUDA_SUCCESS;
    return copy_fence(session, stream);
}

static CUresult copy_through_blocks(struct box_session *session, const struct rect_copy *copy,
                                    CUstream stream, bool wait)
{
    const struct side *host = copy->from.device ? &copy->to : &copy->from;
    const struct side *device = copy->from.device ? &copy->from : &copy->to;
    struct staged_rows rows = {
        .to_device = copy->to.device,
        .device = device->address,
        .host = (uint8_t *)(uintptr_t)host->address,
        .device_pitch = device->pitch,
        .device_slice = device->slice,
        .host_pitch = host->pitch,
        .host_slice = host->slice,
        .width = copy->width,
        .height = copy->height,
        .depth = copy->depth,
    };
    CUresult result = staged_rect(session, &rows, stream);
    return result == CUDA_SUCCESS && wait && rows.to_device ? copy_fence(session, stream) : result;
}

static CUresult copy_rows(struct box_session *session, const struct rect_copy *copy,
                          CUstream stream, bool wait)
{
    CUresult result = copy->width <= WIRE_INLINE_MAX ? await_source(session, copy, stream)
                                                     : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        return result;
    if (session->staging && copy->width <= WIRE_INLINE_MAX &&
        copy->height > WIRE_INLINE_MAX / copy->width / copy->depth)
        return copy_through_blocks(session, copy, stream, wait);
    uint8_t *packed = malloc(WIRE_INLINE_MAX);
    if (!packed)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t plane = 0; plane < copy->depth && result == CUDA_SUCCESS; plane++)
        result = copy_plane(session, copy, plane, stream, packed);
    free(packed);
    return result;
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

// Between devices of two boxes.
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
        return copy_rows(session, copy, stream, wait);
    CUDA_MEMCPY3D request = rect_request(copy);
    result = remote_copy_3d(&request, stream);
    return result == CUDA_SUCCESS && host && wait ? copy_fence(session, stream) : result;
}

CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool wait)
{
    struct corner from, to;
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    rect_read_corners(c, &from, &to);
    struct rect_copy copy = {.width = c->WidthInBytes, .height = c->Height, .depth = c->Depth};
    return copy_rect(&copy, &from, &to, stream, wait);
}

CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool wait)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    struct corner from = {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes,
                          c->srcY,          0,          c->srcPitch,  0};
    struct corner to = {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes,
                        c->dstY,          0,          c->dstPitch,  0};
    struct rect_copy copy = {.width = c->WidthInBytes, .height = c->Height, .depth = 1};
    return copy_rect(&copy, &from, &to, stream, wait);
}
