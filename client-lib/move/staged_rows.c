// SPDX-License-Identifier: BSD-3-Clause
// Copies of rectangles whose rows are packed in staging blocks.
#include <string.h>

#include "client-lib/move/blocks.h"
#include "client-lib/move/copies.h"
#include "client-lib/move/flags.h"
#include "client-lib/move/rect_sides.h"
#include "client_calls.h"

struct row_cursor {
    const struct staged_rows *rows;
    size_t plane, row; // where the next chunk begins
};

// A chunk is whole planes where they fit a block, else rows of one plane.
struct row_chunk {
    struct staging_block *block;
    size_t plane, row, planes, count; // COUNT rows of each of PLANES planes
};

static bool next_rows(const struct box_session *session, struct row_cursor *cursor,
                      struct row_chunk *chunk)
{
    const struct staged_rows *rows = cursor->rows;
    size_t fit = session->staging->block_size / rows->width;
    if (cursor->plane == rows->depth)
        return false;
    size_t planes = fit / rows->height, left = rows->depth - cursor->plane;
    chunk->plane = cursor->plane;
    chunk->row = cursor->row;
    chunk->planes = !planes ? 1 : planes < left ? planes : left;
    left = rows->height - cursor->row;
    chunk->count = fit < left ? fit : left;
    cursor->row += chunk->count;
    if (cursor->row == rows->height) {
        cursor->row = 0;
        cursor->plane += chunk->planes;
    }
    return true;
}

// Between the program's memory and the chunk's block.
static void move_rows(const struct box_session *session, const struct staged_rows *rows,
                      const struct row_chunk *chunk)
{
    uint8_t *packed = block_memory(session, chunk->block);
    for (size_t plane = 0; plane < chunk->planes; plane++)
        for (size_t row = 0; row < chunk->count; row++, packed += rows->width) {
            uint8_t *host = rows->host + (chunk->plane + plane) * rows->host_slice +
                            (chunk->row + row) * rows->host_pitch;
            memcpy(rows->to_device ? packed : host, rows->to_device ? host : packed, rows->width);
        }
}

// Asks for the chunk's copy, and for the flag behind it.
static CUresult ask_for_rows(struct box_session *session, const struct staged_rows *rows,
                             const struct row_chunk *chunk, CUstream stream)
{
    struct side block = {.address = block_name(session, chunk->block),
                         .pitch = rows->width,
                         .slice = rows->width * chunk->count};
    struct side device = {.device = true,
                          .address = rows->device + chunk->plane * rows->device_slice +
                                     chunk->row * rows->device_pitch,
                          .pitch = rows->device_pitch,
                          .slice = chunk->planes > 1 ? rows->device_slice
                                                     : chunk->count * rows->device_pitch,
                          .array = rows->array,
                          .x = rows->x,
                          .y = rows->y + chunk->row,
                          .z = rows->z + chunk->plane};
    struct rect_copy part = {.from = rows->to_device ? block : device,
                             .to = rows->to_device ? device : block,
                             .width = rows->width,
                             .height = chunk->count,
                             .depth = chunk->planes};
    size_t bytes = rows->width * chunk->count * chunk->planes;
    CUDA_MEMCPY3D copy = rect_request(&part);
    CUresult result = remote_copy_3d(&copy, stream);
    return result == CUDA_SUCCESS ? block_signal(session, chunk->block, bytes, stream) : result;
}

static CUresult rect_to_device(struct box_session *session, const struct staged_rows *rows,
                               CUstream stream)
{
    struct row_cursor cursor = {.rows = rows};
    struct row_chunk chunk;
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS && next_rows(session, &cursor, &chunk)) {
        chunk.block = block_take(session, false, &result);
        if (!chunk.block)
            return result;
        move_rows(session, rows, &chunk);
        result = ask_for_rows(session, rows, &chunk, stream);
        if (result == CUDA_SUCCESS)
            block_set(session, chunk.block, BLOCK_SENT);
        else
            block_abandon(session, chunk.block);
    }
    return result;
}

static CUresult rect_from_device(struct box_session *session, const struct staged_rows *rows,
                                 CUstream stream)
{
    struct row_cursor cursor = {.rows = rows};
    struct row_chunk chunks[BLOCKS_IN_FLIGHT], *chunk;
    unsigned int first = 0, count = 0;
    CUresult result = CUDA_SUCCESS, taken = CUDA_SUCCESS;
    for (;;) {
        while (result == CUDA_SUCCESS && count < BLOCKS_IN_FLIGHT) {
            struct row_cursor before = cursor;
            chunk = &chunks[(first + count) % BLOCKS_IN_FLIGHT];
            if (!next_rows(session, &cursor, chunk))
                break;
            chunk->block = block_take(session, count > 0, &taken);
            if (!chunk->block) {
                cursor = before;
                if (!count)
                    result = taken;
                break;
            }
            result = ask_for_rows(session, rows, chunk, stream);
            if (result != CUDA_SUCCESS)
                block_abandon(session, chunk->block);
            else
                count++;
        }
        if (!count)
            return result;
        link_flush(session->link);
        chunk = &chunks[first];
        CUresult waited = wait_flag(session, block_index(session->blocks, chunk->block),
                                    chunk->block->use, chunk->block->size, stream);
        if (waited == CUDA_SUCCESS) {
            move_rows(session, rows, chunk);
            block_set(session, chunk->block, BLOCK_FREE);
        } else {
            block_abandon(session, chunk->block);
            result = result == CUDA_SUCCESS ? waited : result;
        }
        first = (first + 1) % BLOCKS_IN_FLIGHT;
        count--;
    }
}

CUresult staged_rect(struct box_session *session, const struct staged_rows *rows, CUstream stream)
{
    return rows->to_device ? rect_to_device(session, rows, stream)
                           : rect_from_device(session, rows, stream);
}
