// SPDX-License-Identifier: BSD-3-Clause
// Copies between the program's own memory and arrays, which have no linear addresses. If the box
// shares the staging blocks, the GPU copies from and to these. Otherwise a few bytes travel in a
// record. Larger data is copied as linear memory to or from a device buffer of the stream, and the
// GPU copies between that and the array in stream order.
#include "client-lib/cuda/copy/rect_rows.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/between_memory.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client_calls.h"

struct pass {
    struct box_session *session;
    const struct rect_copy *copy;
    CUstream stream;
    uint8_t *packed;     // packed rows of the program's memory, if they have gaps there; else NULL
    CUdeviceptr between; // buffer on the GPU; 0: the rows are in the request records
};

static const struct side *array_rows_host_of(const struct rect_copy *copy)
{
    return copy->from.device ? &copy->to : &copy->from;
}

static bool is_packed(const struct rect_copy *copy)
{
    const struct side *host = array_rows_host_of(copy);
    return (copy->height == 1 || host->pitch == copy->width) &&
           (copy->depth == 1 || host->slice == copy->height * copy->width);
}

// ROWS rows of each of PLANES planes, from a position in the copy on.
struct row_stretch {
    size_t plane, row, planes, rows;
};

static uint8_t *host_address(const struct pass *pass, const struct row_stretch *part)
{
    const struct side *host = array_rows_host_of(pass->copy);
    return (uint8_t *)(uintptr_t)host->address + part->plane * host->slice +
           part->row * host->pitch;
}

static void move_packed(const struct pass *pass, const struct row_stretch *part, bool pack)
{
    const struct side *host = array_rows_host_of(pass->copy);
    size_t width = pass->copy->width;
    uint8_t *packed = pass->packed;
    for (size_t plane = 0; plane < part->planes; plane++)
        for (size_t row = 0; row < part->rows; row++, packed += width) {
            uint8_t *there = host_address(pass, part) + plane * host->slice + row * host->pitch;
            memcpy(pack ? packed : there, pack ? there : packed, width);
        }
}

// Returns the request for the copy of a stretch. WITH is the side that is not the array.
static CUDA_MEMCPY3D array_rows_ask_for(const struct pass *pass, const struct row_stretch *part,
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
    CUDA_MEMCPY3D copy = array_rows_ask_for(pass, part, none);
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
    CUDA_MEMCPY3D copy = array_rows_ask_for(pass, part, between);
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

// Moves whole planes if they fit, else rows of one plane, else (in records only) parts of a row.
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

// Moves a row that is too long for a record in columns, each of which is a copy by itself.
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
        // Columns are not contiguous in the program's memory, so each row is moved alone.
        result = move_all(&pass, step < copy->width ? column.width : WIRE_INLINE_MAX, true);
    }
    return result;
}

// Returns true if the program's memory is page-locked, which is read or written in stream order.
static bool is_in_order(const struct rect_copy *copy)
{
    struct allocation found;
    return memory_find(array_rows_host_of(copy)->address, &found) && found.host;
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
    // If no device memory is left, the rows are moved in the records of requests.
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
    // The data of a small copy has left the program's memory already.
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
