// SPDX-License-Identifier: BSD-3-Clause
// Small copies of arrays, with data in the record.
#include <string.h>

#include "proto/wire.h"
#include "daemon/worker/copy/parts/carrier.h"
#include "daemon/worker/copy/carriers.h"
#include "daemon/worker/copy/serve_copy.h"
#include "daemon/worker/copy/parts/staging.h"
#include "daemon/worker/copy/staged/push.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "worker_serve.h"

// The copy as the driver is to see it, with the side that the record carries packed at DATA. False:
// it is not one of an array and BYTES bytes.
static bool serve_array_copy_place(struct serve *serve, CUDA_MEMCPY3D *copy, bool in, void *data,
                                   uint64_t bytes)
{
    uint64_t plane, size;

    if ((in ? copy->srcMemoryType : copy->dstMemoryType) != CU_MEMORYTYPE_HOST ||
        (in ? copy->dstMemoryType : copy->srcMemoryType) != CU_MEMORYTYPE_ARRAY ||
        __builtin_mul_overflow((uint64_t)copy->WidthInBytes, (uint64_t)copy->Height, &plane) ||
        __builtin_mul_overflow(plane, (uint64_t)copy->Depth, &size) || !size ||
        size > WIRE_INLINE_MAX || (in ? size != bytes : size > bytes)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return false;
    }
    box_resolve(serve, copy, BOX_DEVICE);
    if (in) {
        copy->srcHost = data;
        copy->srcXInBytes = copy->srcY = copy->srcZ = 0;
        copy->srcPitch = copy->WidthInBytes;
        copy->srcHeight = copy->Height;
    } else {
        copy->dstHost = data;
        copy->dstXInBytes = copy->dstY = copy->dstZ = 0;
        copy->dstPitch = copy->WidthInBytes;
        copy->dstHeight = copy->Height;
    }
    return !serve_failed(serve) && serve_require(serve, driver.cuMemcpy3DAsync_v2);
}

void serve_array_write(struct serve *serve, const struct args_array_write *args, CUstream stream)
{
    CUDA_MEMCPY3D copy = args->copy;
    struct block *block = NULL;
    void *data = (void *)(uintptr_t)(args + 1);

    if (!serve_array_copy_place(serve, &copy, true, data, args->bytes))
        return;
    if (carrier->blocks_for_rows)
        block = staging_take(STAGING_SMALL, false);
    if (!block) {
        serve_fail(serve, driver.cuMemcpy3DAsync_v2(&copy, stream));
        return;
    }
    memcpy(block->data, data, args->bytes);
    copy.srcHost = block->data;
    serve_fail(serve, driver.cuMemcpy3DAsync_v2(&copy, stream));
    push_see_off(serve, block, stream);
}

void serve_array_read(struct serve *serve, const struct args_array_read *args, CUstream stream)
{
    CUDA_MEMCPY3D copy = args->copy;

    if (!serve_array_copy_place(serve, &copy, false, serve->bytes, args->reply_room))
        return;
    struct block *block = take_reply_block(serve);
    if (block)
        copy.dstHost = block->data;
    serve_fail(serve, driver.cuMemcpy3DAsync_v2(&copy, stream));
    if (!serve_failed(serve))
        serve_fail(serve, serve_wait_stream(serve, stream));
    if (!serve_failed(serve))
        serve_reply_bytes(serve, copy.dstHost, copy.WidthInBytes * copy.Height * copy.Depth);
    if (block)
        staging_give(block);
}
