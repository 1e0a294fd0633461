// SPDX-License-Identifier: BSD-3-Clause
// Copies between the program's own memory and arrays, which have no addresses that bytes could be sent to. Where the
// staging blocks are the box's as well, the GPU copies from and to these. Otherwise a few bytes travel in a record;
// more go the way of linear copies, to device memory that the stream has for that, and the GPU does the rest in its
// order.
#include "client-lib/move/rect_rows.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/move/copies.h"
#include "client-lib/move/flags.h"
#include "client-lib/objects/addresses.h"
#include "client-lib/objects/between_memory.h"
#include "client-lib/session/staging_blocks.h"
#include "client_calls.h"

struct pass {
    struct box_session *session;
    const struct rect_copy *copy;
    CUstream stream;
    uint8_t *packed;     // rows of the program's memory where they have gaps; NULL: they have none
    CUdeviceptr between; // 0: none, all travels in records
};

static const struct side *host_of(const struct rect_copy *copy)
{
    return copy->from.device ? &copy->to : &copy->from;
}

static bool is_packed(const struct rect_copy *copy)
{
    const struct side *host = host_of(copy);
    return (copy->height == 1 || host->pitch == copy->width) &&
           (copy->depth == 1 || host->slice == copy->height * copy->width);
}

// ROWS rows of each of PLANES planes from a place in the copy on.
struct row_stretch {
    size_t plane, row, planes, rows;
};

static uint8_t *host_address(const struct pass *pass, const struct row_stretch *part)
{
    const struct side *host = host_of(pass->copy);
    return (uint8_t *)(uintptr_t)host->address + part->plane * host->slice +
           part->row * host->pitch;
}

static void move_packed(const struct pass *pass, const struct row_stretch *part, bool pack)
{
    const struct side *host = host_of(pass->copy);
    size_t width = pass->copy->width;
    uint8_t *packed = pass->packed;
    for (size_t plane = 0; plane < part->planes; plane++)
        for (size_t row = 0; row < part->rows; row++, packed += width) {
            uint8_t *there = host_address(pass, part) + plane * host->slice + row * host->pitch;
            memcpy(pack ? packed : there, pack ? there : packed, width);
        }
}

// The copy of a stretch as the box is asked for it, where WITH is the other side.
static CUDA_MEMCPY3D ask_for(const struct pass *pass, const struct row_stretch *part,
                             struct side with)
{
    struct rect_copy copy = *pass->copy;
    struct side *array = copy.from.array ? &copy.from : &copy.to;
    array->y += part->row;
    array->z += part->plane;
    *(copy.from.array ? &copy.to : &copy.from) = with;
    copy.height = part->rows;
    copy.depth = part->planes;
    return rect_request(&copy);
}

static CUresult in_record(const struct pass *pass, const struct row_stretch *part, uint8_t *data,
                          size_t bytes)
{
    struct side none = {.pitch = pass->copy->width, .slice = part->rows * pass->copy->width};
    CUDA_MEMCPY3D copy = ask_for(pass, part, none);
    size_t used;
    return pass->copy->to.array ? remote_array_write(&copy, pass->stream, data, bytes)
                                : remote_array_read(&copy, pass->stream, data, bytes, &used);
}

static CUresult by_way_of_memory(const struct pass *pass, const struct row_stretch *part,
                                 uint8_t *data, size_t bytes, bool wait)
{
    struct side between = {.device = true,
                           .address = pass->between,
                           .pitch = pass->copy->width,
                           .slice = part->rows * pass->copy->width};
    CUDA_MEMCPY3D copy = ask_for(pass, part, between);
    if (pass->copy->to.array) {
        CUresult result =
            copy_host_to_device(pass->session, pass->between, data, bytes, pass->stream, false);
        return result == CUDA_SUCCESS ? remote_copy_3d(&copy, pass->stream) : result;
    }
    CUresult result = remote_copy_3d(&copy, pass->stream);
    return result == CUDA_SUCCESS
               ? copy_device_to_host(pass->session, data, pass->between, bytes, pass->stream, wait)
               : result;
}

static CUresult move_stretch(const struct pass *pass, const struct row_stretch *part, bool wait)
{
    size_t bytes = part->planes * part->rows * pass->copy->width;
    uint8_t *data = pass->packed ? pass->packed : host_address(pass, part);
    if (pass->packed && pass->copy->to.array)
        move_packed(pass, part, true);
    CUresult result = pass->between ? by_way_of_memory(pass, part, data, bytes, wait)
                                    : in_record(pass, part, data, bytes);
    if (result == CUDA_SUCCESS && pass->packed && pass->copy->from.array)
        move_packed(pass, part, false);
    return result;
}

// Whole planes where they fit, else rows of one, else (of a record only) less than a row.
static CUresult move_all(const struct pass *pass, size_t most, bool wait)
{
    const struct rect_copy *copy = pass->copy;
    size_t rows_fit = most / copy->width, planes_fit = rows_fit / copy->height;
    CUresult result = CUDA_SUCCESS;
    for (size_t plane = 0; plane < copy->depth && result == CUDA_SUCCESS;) {
        size_t planes = planes_fit ? planes_fit : 1;
        planes = planes < copy->depth - plane ? planes : copy->depth - plane;
        for (size_t row = 0; row < copy->height && result == CUDA_SUCCESS; row += rows_fit) {
            size_t left = copy->height - row;
            struct row_stretch part = {plane, row, planes, rows_fit < left ? rows_fit : left};
            result = move_stretch(pass, &part, wait);
        }
        plane += planes;
    }
    return result;
}

// A row that is too long for a record goes in pieces, which are rows of copies of their own.
static CUresult move_in_records(struct pass pass)
{
    const struct rect_copy *copy = pass.copy;
    size_t step = copy->width < WIRE_INLINE_MAX ? copy->width : WIRE_INLINE_MAX;
    CUresult result = CUDA_SUCCESS;
    for (size_t x = 0; x < copy->width && result == CUDA_SUCCESS; x += step) {
        struct rect_copy column = *copy;
        struct side *array = copy->to.array ? &column.to : &column.from;
        struct side *host = copy->to.array ? &column.from : &column.to;
        column.width = copy->width - x < step ? copy->width - x : step;
        array->x += x;
        host->address += x;
        pass.copy = &column;
        // Pieces of rows do not lie packed, so that each goes alone.
        result = move_all(&pass, step < copy->width ? column.width : WIRE_INLINE_MAX, true);
    }
    return result;
}

// Memory of the program that is read, or written, only when the stream has come there.
static bool is_in_order(const struct rect_copy *copy)
{
    struct allocation found;
    return memory_find(host_of(copy)->address, &found) && found.host;
}

static CUresult move_apart(struct pass pass, bool wait)
{
    const struct rect_copy *copy = pass.copy;
    size_t total = copy->width * copy->height * copy->depth;
    size_t most = total < BETWEEN_MEMORY_SIZE ? total : BETWEEN_MEMORY_SIZE;
    bool few = total <= WIRE_INLINE_MAX && (wait || pass.packed || !is_in_order(copy));
    CUresult result = CUDA_SUCCESS;
    if (few || pass.packed)
        result = rect_await_source(pass.session, copy, pass.stream);
    if (result != CUDA_SUCCESS)
        return result;
    // Where there is no device memory left, it goes without.
    struct between_memory *between = few ? NULL : between_memory_take(pass.stream);
    if (!between)
        return move_in_records(pass);
    pass.between = between_memory_address(between);
    result = move_all(&pass, most, wait || pass.packed);
    between_memory_give(between);
    return result;
}

CUresult array_copy_rows(struct box_session *session, const struct rect_copy *copy, CUstream stream,
                         bool wait)
{
    struct pass pass = {.session = session, .copy = copy, .stream = stream};
    // The data of a small copy has left the program's memory, which needs no more.
    bool settle = wait && copy->to.array &&
                  copy->width * copy->height * copy->depth > WIRE_INLINE_MAX;
    if (session->memory->maps_page_locked && session->staging &&
        copy->width <= session->staging->block_size) {
        CUresult result = rect_await_source(session, copy, stream);
        return result == CUDA_SUCCESS ? rect_through_blocks(session, copy, stream, settle) : result;
    }
    if (!is_packed(copy)) {
        size_t total = copy->width * copy->height * copy->depth;
        pass.packed = malloc(total < BETWEEN_MEMORY_SIZE ? total : BETWEEN_MEMORY_SIZE);
        if (!pass.packed)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = move_apart(pass, wait);
    free(pass.packed);
    return result == CUDA_SUCCESS && settle ? copy_fence(session, stream) : result;
}
