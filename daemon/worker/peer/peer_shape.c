// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/peer/peer_shape.h"

#include "proto/wire.h"

bool peer_shape_measure(const struct peer_shape *shape, uint64_t *total, uint64_t *extent)
{
    uint64_t rows, planes;

    return shape->width && shape->height && shape->depth &&
           (shape->height == 1 || shape->pitch >= shape->width) &&
           !__builtin_mul_overflow(shape->width, shape->height, total) &&
           !__builtin_mul_overflow(*total, shape->depth, total) &&
           !__builtin_mul_overflow(shape->depth - 1, shape->slice, &planes) &&
           !__builtin_mul_overflow(shape->height - 1, shape->pitch, &rows) &&
           !__builtin_add_overflow(planes, rows, extent) &&
           !__builtin_add_overflow(*extent, shape->width, extent);
}

// Return the position of OFFSET: bytes into its row, and its row in its plane.
static uint64_t in_row(const struct peer_shape *shape, uint64_t offset)
{
    return offset % shape->width;
}

static uint64_t peer_shape_row_of(const struct peer_shape *shape, uint64_t offset)
{
    return offset / shape->width % shape->height;
}

uint32_t peer_shape_piece(const struct peer_shape *shape, uint64_t offset)
{
    uint64_t left = shape->width - in_row(shape, offset);

    if (shape->width > WIRE_BLOCK_SIZE)
        return left < WIRE_BLOCK_SIZE ? (uint32_t)left : WIRE_BLOCK_SIZE;
    uint64_t rows = shape->height - peer_shape_row_of(shape, offset),
             most = WIRE_BLOCK_SIZE / shape->width;
    return (uint32_t)((rows < most ? rows : most) * shape->width);
}

bool peer_shape_has_piece(const struct peer_shape *shape, uint64_t offset, uint32_t size)
{
    uint64_t total = shape->width * shape->height * shape->depth;

    return offset < total && (shape->width > WIRE_BLOCK_SIZE || !in_row(shape, offset)) &&
           size == peer_shape_piece(shape, offset);
}

bool peer_shape_is_packed(const struct peer_shape *shape)
{
    return (shape->height == 1 || shape->pitch == shape->width) &&
           (shape->depth == 1 || shape->slice == shape->height * shape->pitch);
}

CUresult peer_shape_copy(const struct peer_shape *shape, uint64_t offset, uint32_t size, void *data,
                         bool to_device, CUstream stream)
{
    uint64_t plane = offset / shape->width / shape->height;
    CUdeviceptr at = shape->address + plane * shape->slice +
                     peer_shape_row_of(shape, offset) * shape->pitch + in_row(shape, offset);

    if (size <= shape->width || shape->pitch == shape->width)
        return to_device ? driver.cuMemcpyHtoDAsync_v2(at, data, size, stream)
                         : driver.cuMemcpyDtoHAsync_v2(data, at, size, stream);
    CUDA_MEMCPY2D rows = {.WidthInBytes = shape->width, .Height = size / shape->width};
    if (to_device) {
        rows.srcMemoryType = CU_MEMORYTYPE_HOST;
        rows.srcHost = data;
        rows.srcPitch = shape->width;
        rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        rows.dstDevice = at;
        rows.dstPitch = shape->pitch;
    } else {
        rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        rows.srcDevice = at;
        rows.srcPitch = shape->pitch;
        rows.dstMemoryType = CU_MEMORYTYPE_HOST;
        rows.dstHost = data;
        rows.dstPitch = shape->width;
    }
    return driver.cuMemcpy2DAsync_v2 ? driver.cuMemcpy2DAsync_v2(&rows, stream)
                                     : CUDA_ERROR_NOT_SUPPORTED;
}
