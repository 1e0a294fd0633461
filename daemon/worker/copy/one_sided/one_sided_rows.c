// SPDX-License-Identifier: BSD-3-Clause
// Moves of rectangles and boxes: rows are packed in a block. The GPU places them with a copy of
// rows. The link moves them in one operation if they are packed in the client's memory too, else
// row by row. A block contains rows of one plane.
#include "transport/link/link.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "worker_driver.h"

static uint64_t one_sided_box_row_of(const struct inflight_block *inflight)
{
    return inflight->offset / inflight->move->box.width;
}

static uint64_t remote_of(const struct rect *box, uint64_t row)
{
    return row / box->height * box->remote_slice + row % box->height * box->remote_pitch;
}

static uint64_t one_sided_box_device_of(const struct rect *box, uint64_t row)
{
    return row / box->height * box->device_slice + row % box->height * box->device_pitch;
}

uint32_t box_inflight_size(const struct move *move, uint64_t offset, uint32_t size)
{
    const struct rect *box = &move->box;
    uint64_t rows = size / box->width, left = box->height - offset / box->width % box->height;

    return (uint32_t)((rows < left ? rows : left) * box->width);
}

uint32_t box_parts(const struct inflight_block *inflight)
{
    const struct rect *box = &inflight->move->box;

    return !box->width || box->remote_pitch == box->width ? 1
                                                          : (uint32_t)(inflight->size / box->width);
}

void box_part(const struct inflight_block *inflight, uint32_t part, struct link_transfer *transfer)
{
    const struct move *move = inflight->move;

    transfer->size = inflight->size;
    transfer->key = move->key;
    if (move->direct) {
        transfer->local = (void *)(uintptr_t)(move->device + inflight->offset);
        transfer->registered = direct_registered(move->direct);
    } else {
        transfer->local = inflight->block->data;
    }
    if (!move->box.width) {
        transfer->remote = move->remote + inflight->offset;
        return;
    }
    transfer->remote = move->remote + remote_of(&move->box, one_sided_box_row_of(inflight) + part);
    if (box_parts(inflight) == 1)
        return;
    transfer->local = inflight->block->data + part * move->box.width;
    transfer->size = (uint32_t)move->box.width;
}

CUresult box_copy(const struct inflight_block *inflight, CUstream stream)
{
    const struct move *move = inflight->move;
    const struct rect *box = &move->box;
    bool in = move->kind == MOVE_TO_DEVICE;
    CUdeviceptr device = move->device +
                         one_sided_box_device_of(box, one_sided_box_row_of(inflight));
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .srcHost = in ? inflight->block->data : NULL,
        .srcDevice = in ? 0 : device,
        .srcPitch = in ? box->width : box->device_pitch,
        .dstMemoryType = in ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstHost = in ? NULL : inflight->block->data,
        .dstDevice = in ? device : 0,
        .dstPitch = in ? box->device_pitch : box->width,
        .WidthInBytes = box->width,
        .Height = inflight->size / box->width,
    };

    return driver.cuMemcpy2DAsync_v2 ? driver.cuMemcpy2DAsync_v2(&copy, stream)
                                     : CUDA_ERROR_NOT_SUPPORTED;
}
