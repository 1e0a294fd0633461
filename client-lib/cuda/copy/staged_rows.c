// SPDX-License-Identifier: BSD-3-Clause
// Copies of rectangles whose rows are packed in staging blocks.
#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/rect_sides.h"
#include "client-lib/cuda/copy/staged_pieces.h"
#include "client_calls.h"

// A piece is several whole planes if they fit, else rows of one plane.
struct rows_job {
    struct staged_job job;
    const struct staged_rows *rows;
    size_t piece_rows, piece_planes;
    size_t per_plane; // pieces that one plane takes; 1 if a piece has several planes
};

struct stretch_of_rows {
    size_t plane, row, planes, count; // COUNT rows of each of PLANES planes
};

static struct stretch_of_rows stretch_of(const struct staged_job *job, size_t piece)
{
    const struct rows_job *copy = (const struct rows_job *)job;
    const struct staged_rows *rows = copy->rows;
    struct stretch_of_rows stretch = {
        .plane = piece / copy->per_plane * copy->piece_planes,
        .row = piece % copy->per_plane * copy->piece_rows,
    };
    size_t planes = rows->depth - stretch.plane, count = rows->height - stretch.row;
    stretch.planes = planes < copy->piece_planes ? planes : copy->piece_planes;
    stretch.count = count < copy->piece_rows ? count : copy->piece_rows;
    return stretch;
}

static const struct staged_rows *staged_rows_of(const struct staged_job *job)
{
    return ((const struct rows_job *)job)->rows;
}

static size_t bytes_of_rows(const struct staged_job *job, size_t piece)
{
    struct stretch_of_rows stretch = stretch_of(job, piece);
    return stretch.planes * stretch.count * staged_rows_of(job)->width;
}

static void move_row(const struct staged_rows *rows, uint8_t *host, uint8_t *packed, size_t bytes)
{
    memcpy(rows->to_device ? packed : host, rows->to_device ? host : packed, bytes);
}

static void staged_rows_move(const struct staged_job *job, size_t piece, uint8_t *packed)
{
    const struct staged_rows *rows = staged_rows_of(job);
    struct stretch_of_rows stretch = stretch_of(job, piece);
    // Rows that are contiguous in the program's memory are copied as one.
    bool as_one = rows->host_pitch == rows->width;
    size_t width = as_one ? stretch.count * rows->width : rows->width;
    size_t count = as_one ? 1 : stretch.count;
    for (size_t plane = 0; plane < stretch.planes; plane++) {
        uint8_t *host = rows->host + (stretch.plane + plane) * rows->host_slice +
                        stretch.row * rows->host_pitch;
        for (size_t row = 0; row < count; row++, packed += width, host += rows->host_pitch)
            move_row(rows, host, packed, width);
    }
}

static CUresult ask_for_rows(const struct staged_job *job, size_t piece,
                             struct staging_block *memory)
{
    const struct staged_rows *rows = staged_rows_of(job);
    struct stretch_of_rows stretch = stretch_of(job, piece);
    struct side block = {.address = block_name(job->session, memory),
                         .pitch = rows->width,
                         .slice = rows->width * stretch.count};
    struct side device = {.device = true,
                          .address = rows->device + stretch.plane * rows->device_slice +
                                     stretch.row * rows->device_pitch,
                          .pitch = rows->device_pitch,
                          .slice = stretch.planes > 1 ? rows->device_slice
                                                      : stretch.count * rows->device_pitch,
                          .array = rows->array,
                          .x = rows->x,
                          .y = rows->y + stretch.row,
                          .z = rows->z + stretch.plane};
    struct rect_copy part = {.from = rows->to_device ? block : device,
                             .to = rows->to_device ? device : block,
                             .width = rows->width,
                             .height = stretch.count,
                             .depth = stretch.planes};
    CUDA_MEMCPY3D copy = rect_request(&part);
    return remote_copy_3d(&copy, job->stream);
}

static const struct staged_kind kind = {.bytes = bytes_of_rows,
                                        .ask = ask_for_rows,
                                        .move = staged_rows_move};

CUresult staged_rect(struct box_session *session, const struct staged_rows *rows, CUstream stream)
{
    size_t total = rows->width * rows->height * rows->depth;
    size_t fit = staged_piece_size(session, total) / rows->width;
    struct rows_job copy = {
        .job = {.kind = &kind, .session = session, .stream = stream, .total = total},
        .rows = rows,
        .piece_rows = fit < 1              ? 1
                      : fit < rows->height ? fit
                                           : rows->height,
        .piece_planes = fit < rows->height ? 1 : fit / rows->height};
    copy.per_plane = (rows->height + copy.piece_rows - 1) / copy.piece_rows;
    copy.job.pieces = (rows->depth + copy.piece_planes - 1) / copy.piece_planes * copy.per_plane;
    return staged_run(&copy.job, rows->to_device);
}
