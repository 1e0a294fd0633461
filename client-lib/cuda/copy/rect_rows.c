// SPDX-License-Identifier: BSD-3-Clause
// Rectangles whose rows are sent packed, in staging blocks or in records, and whose wide rows are
// sent as linear copies.
#include "client-lib/cuda/copy/rect_rows.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/waiting.h"
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

// Copies one plane between the program's memory and the GPU.
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

// Page-locked memory must be read in stream order, but the rows are packed at once: so this waits
// for STREAM if earlier work may still write there.
CUresult rect_await_source(struct box_session *session, const struct rect_copy *copy,
                           CUstream stream)
{
    struct allocation found;
    bool written = session->memory->reaches_page_locked || session_expecting(session) ||
                   staging_pending(session);
    if (!written || copy->from.device || !memory_find(copy->from.address, &found) || !found.host)
        return CUDA_SUCCESS;
    return copy_fence(session, stream);
}

CUresult rect_through_blocks(struct box_session *session, const struct rect_copy *copy,
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
        .array = device->array,
        .x = device->x,
        .y = device->y,
        .z = device->z,
    };
    CUresult result = staged_rect(session, &rows, stream);
    return result == CUDA_SUCCESS && wait && rows.to_device ? copy_fence(session, stream) : result;
}

// Returns true if neither side has gaps between its rows or slices.
static bool is_one_stretch(const struct rect_copy *copy)
{
    size_t plane = copy->height * copy->width;
    bool rows = copy->height == 1 ||
                (copy->from.pitch == copy->width && copy->to.pitch == copy->width);
    return rows && (copy->depth == 1 || (copy->from.slice == plane && copy->to.slice == plane));
}

static CUresult copy_as_one(struct box_session *session, const struct rect_copy *copy,
                            CUstream stream, bool wait)
{
    size_t size = copy->width * copy->height * copy->depth;
    return copy->to.device ? copy_host_to_device(session, copy->to.address,
                                                 (const void *)(uintptr_t)copy->from.address, size,
                                                 stream, wait)
                           : copy_device_to_host(session, (void *)(uintptr_t)copy->to.address,
                                                 copy->from.address, size, stream, wait);
}

// Staging blocks carry rows up to a record's size. The box handles longer rows itself, if it maps
// the memory.
static bool fit_blocks(const struct box_session *session, const struct rect_copy *copy)
{
    if (!session->staging)
        return false;
    if (copy->width > WIRE_INLINE_MAX)
        return session->memory->maps_page_locked && copy->width <= session->staging->block_size;
    return copy->height > WIRE_INLINE_MAX / copy->width / copy->depth;
}

CUresult rect_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                        bool wait)
{
    if (is_one_stretch(copy))
        return copy_as_one(session, copy, stream, wait);
    bool packed_here = copy->width <= WIRE_INLINE_MAX || fit_blocks(session, copy);
    CUresult result = packed_here ? rect_await_source(session, copy, stream) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        return result;
    if (fit_blocks(session, copy))
        return rect_through_blocks(session, copy, stream, wait);
    uint8_t *packed = malloc(WIRE_INLINE_MAX);
    if (!packed)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t plane = 0; plane < copy->depth && result == CUDA_SUCCESS; plane++)
        result = copy_plane(session, copy, plane, stream, packed);
    free(packed);
    return result;
}
