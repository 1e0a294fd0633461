// SPDX-License-Identifier: BSD-3-Clause
// Requests for copies: between devices and the client's memory, through the session's carrier;
// within devices; and small ones with data in the record. Also the flags by which the GPU shows its
// progress to the client.
#include "daemon/worker/copy/serve_copy.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "common/base/clock.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/copy/carriers.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/copy/staged/push.h"
#include "daemon/worker/copy/parts/staging.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

void serve_copy_to_device(struct serve *serve, const struct args_copy_to_device *args)
{
    carrier->copy(serve, true, args->dst, args->host, args->size,
                  serve_handle(serve, HANDLE_STREAM, args->stream));
}

void serve_copy_from_device(struct serve *serve, const struct args_copy_from_device *args)
{
    carrier->copy(serve, false, args->src, args->host, args->size,
                  serve_handle(serve, HANDLE_STREAM, args->stream));
}

void serve_host_unmap(struct serve *serve, const struct args_host_unmap *args)
{
    if (args->region == WIRE_REGION_STAGING || args->region >= WIRE_REGION_LIMIT)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        carrier->forget(serve, args->region);
}

void serve_signal(struct serve *serve, const struct args_signal *args, CUstream stream)
{
    if (args->index >= LINK_FLAGS)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    // The flag would say that the copy before it is done; while a failure waits to be reported the
    // client must ask, and learn of it.
    if (atomic_load_explicit(&session.deferred, memory_order_relaxed))
        return;
    carrier->signal(serve, args->index, args->value, stream);
}

// Returns true if the flag alone completes the wait: there is no error, output or account to
// report.
static bool flag_says_all(const struct serve *serve)
{
    return !serve_failed(serve) && !atomic_load_explicit(&session.deferred, memory_order_relaxed) &&
           !atomic_load_explicit(&session.prints, memory_order_relaxed) && budget_is_settled();
}

static CUresult query_flag(struct serve *serve, const void *sync)
{
    const struct args_sync_signal *args = sync;
    uint32_t now = atomic_load_explicit((_Atomic uint32_t *)&pinned.staging->flags[args->index],
                                        memory_order_relaxed);

    return (int32_t)(now - args->value) >= 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

// The client's next request follows its view of the flag. The reading thread stays awake for it, as
// after an answer.
static void stay_awake(struct serve *serve, const struct args_sync_signal *args)
{
    uint64_t start = clock_ns();

    serve_ask_a_while(serve, query_flag, args);
    serve_note_wait(clock_ns() - start);
}

void serve_sync_signal(struct serve *serve, const struct args_sync_signal *args)
{
    CUstream stream = serve_handle(serve, HANDLE_STREAM, args->stream);

    if (args->index >= LINK_FLAGS) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    if (flag_says_all(serve))
        carrier->signal(serve, args->index, args->value, stream);
    else
        serve_fail(serve, CUDA_ERROR_NOT_READY);
    if (!serve_failed(serve)) {
        stay_awake(serve, args);
        return;
    }
    // The question that comes instead has the failure as its answer.
    serve->result = CUDA_SUCCESS;
    atomic_store_explicit((_Atomic uint32_t *)&pinned.staging->flags[args->index],
                          WIRE_FLAG_ASK(args->value), memory_order_release);
}

// ---- boxes ----

struct side_fields {
    CUmemorytype *type;
    uint64_t x, y, z;
    const void **host;
    CUdeviceptr *device;
    CUarray *array;
    size_t *pitch, *height;
};

// The bytes from the start of an operand to the end of what the copy touches.
static bool extent(const struct side_fields *side, const CUDA_MEMCPY3D *copy, uint64_t *out)
{
    uint64_t lines, bytes;

    if (!copy->WidthInBytes || !copy->Height || !copy->Depth) {
        *out = 0;
        return true;
    }
    return side->y <= UINT32_MAX && side->z <= UINT32_MAX && copy->Height <= UINT32_MAX &&
           copy->Depth <= UINT32_MAX &&
           !__builtin_mul_overflow(side->z + copy->Depth - 1, (uint64_t)*side->height, &lines) &&
           !__builtin_add_overflow(lines, side->y + copy->Height - 1, &lines) &&
           !__builtin_mul_overflow(lines, (uint64_t)*side->pitch, &bytes) &&
           !__builtin_add_overflow(bytes, side->x, &bytes) &&
           !__builtin_add_overflow(bytes, (uint64_t)copy->WidthInBytes, out);
}

// Turns an operand into what the driver is to see, after checking all that it can reach. Pitch and
// height that the client left out are filled in, so that the driver reckons as we did.
static void resolve_side(struct serve *serve, const struct side_fields *side,
                         const CUDA_MEMCPY3D *copy)
{
    uint64_t bytes = 0;

    if (*side->type == CU_MEMORYTYPE_ARRAY) { // whose extent the driver knows
        *side->array = serve_handle(serve, HANDLE_ARRAY, (uintptr_t)*side->array);
        return;
    }
    if (!*side->pitch)
        *side->pitch = side->x + copy->WidthInBytes;
    if (!*side->height)
        *side->height = side->y + copy->Height;
    if (!extent(side, copy, &bytes)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    switch (*side->type) {
    case CU_MEMORYTYPE_HOST:
        if (!carrier->resolve(side->host, bytes))
            serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: serve_device_range(serve, *side->device, bytes); return;
    case CU_MEMORYTYPE_ARRAY: return;
    }
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
}

void box_resolve(struct serve *serve, CUDA_MEMCPY3D *copy, enum box_sides sides)
{
    struct side_fields src = {.type = &copy->srcMemoryType,
                              .x = copy->srcXInBytes,
                              .y = copy->srcY,
                              .z = copy->srcZ,
                              .host = &copy->srcHost,
                              .device = &copy->srcDevice,
                              .array = &copy->srcArray,
                              .pitch = &copy->srcPitch,
                              .height = &copy->srcHeight};
    struct side_fields dst = {.type = &copy->dstMemoryType,
                              .x = copy->dstXInBytes,
                              .y = copy->dstY,
                              .z = copy->dstZ,
                              .host = (const void **)&copy->dstHost,
                              .device = &copy->dstDevice,
                              .array = &copy->dstArray,
                              .pitch = &copy->dstPitch,
                              .height = &copy->dstHeight};

    if (copy->srcLOD || copy->dstLOD)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    copy->reserved0 = copy->reserved1 = NULL;
    if (copy->srcMemoryType != CU_MEMORYTYPE_ARRAY)
        copy->srcArray = NULL;
    if (copy->dstMemoryType != CU_MEMORYTYPE_ARRAY)
        copy->dstArray = NULL;
    if (!serve_failed(serve) && (sides == BOX_BOTH || *src.type != CU_MEMORYTYPE_HOST))
        resolve_side(serve, &src, copy);
    if (!serve_failed(serve) && (sides == BOX_BOTH || *dst.type != CU_MEMORYTYPE_HOST))
        resolve_side(serve, &dst, copy);
}

void box_resolve_addresses(struct serve *serve, CUDA_MEMCPY3D *copy)
{
    bool host = copy->srcMemoryType == CU_MEMORYTYPE_HOST ||
                copy->dstMemoryType == CU_MEMORYTYPE_HOST;

    if (host && !carrier->addresses)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        box_resolve(serve, copy, BOX_BOTH);
}

void serve_copy_3d(struct serve *serve, const struct args_copy_3d *args, CUstream stream)
{
    CUDA_MEMCPY3D copy = args->copy;

    box_resolve(serve, &copy, BOX_BOTH);
    carrier->copy_box(serve, &copy, stream);
}

void serve_copy_peer_3d(struct serve *serve, const struct args_copy_peer_3d *args, CUcontext dst,
                        CUcontext src, CUstream stream)
{
    CUDA_MEMCPY3D copy = args->copy;

    box_resolve_addresses(serve, &copy);
    if (!serve_require(serve, driver.cuMemcpy3DPeerAsync))
        return;
    CUDA_MEMCPY3D_PEER peer; // laid out alike, with contexts in the place of what is reserved
    _Static_assert(sizeof(peer) == sizeof(copy) && offsetof(CUDA_MEMCPY3D_PEER, srcContext) ==
                                                       offsetof(CUDA_MEMCPY3D, reserved0),
                   "copies between contexts have the layout of others");
    memcpy(&peer, &copy, sizeof(peer));
    peer.srcContext = src;
    peer.dstContext = dst;
    serve_fail(serve, driver.cuMemcpy3DPeerAsync(&peer, stream));
}

// ---- rows inside records ----

static bool rows_valid(struct serve *serve, uint64_t address, uint64_t pitch, uint64_t width,
                       uint64_t rows)
{
    uint64_t span, bytes;

    if (!width || !rows || width > WIRE_INLINE_MAX || rows > WIRE_INLINE_MAX ||
        width * rows > WIRE_INLINE_MAX || (rows > 1 && pitch < width) ||
        __builtin_mul_overflow(pitch, rows - 1, &span) ||
        __builtin_add_overflow(span, width, &bytes)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return false;
    }
    return serve_device_range(serve, address, bytes);
}

static CUresult spread_rows(const struct args_write_rows *args, const void *data, CUstream stream)
{
    if (args->rows == 1 || args->pitch == args->width)
        return driver.cuMemcpyHtoDAsync_v2(args->dst, data, args->bytes, stream);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = data,
                          .srcPitch = args->width,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = args->dst,
                          .dstPitch = args->pitch,
                          .WidthInBytes = args->width,
                          .Height = args->rows};
    if (!driver.cuMemcpy2DAsync_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuMemcpy2DAsync_v2(&copy, stream);
}

// Few bytes in one piece the driver takes from pageable memory, as the record is, at once. With
// more, or with rows, it waits until the stream is there (seen on an H200), so they go through a
// block.
static bool driver_takes_at_once(const struct args_write_rows *args)
{
    return args->bytes <= 16 * 1024 && (args->rows == 1 || args->pitch == args->width);
}

void serve_write_rows(struct serve *serve, const struct args_write_rows *args, CUstream stream)
{
    struct block *block = NULL;

    if (!rows_valid(serve, args->dst, args->pitch, args->width, args->rows))
        return;
    if (args->bytes != args->width * args->rows) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    if (carrier->blocks_for_rows && !driver_takes_at_once(args))
        block = staging_take(STAGING_SMALL, false);
    if (!block) {
        serve_fail(serve, spread_rows(args, args + 1, stream));
        return;
    }
    memcpy(block->data, args + 1, args->bytes);
    serve_fail(serve, spread_rows(args, block->data, stream));
    push_see_off(serve, block, stream);
}

static CUresult serve_copy_rows(const struct args_read_rows *args, void *data, CUstream stream)
{
    if (args->rows == 1 || args->pitch == args->width)
        return driver.cuMemcpyDtoHAsync_v2(data, args->src, args->width * args->rows, stream);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = args->src,
                          .srcPitch = args->pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = data,
                          .dstPitch = args->width,
                          .WidthInBytes = args->width,
                          .Height = args->rows};
    if (!driver.cuMemcpy2DAsync_v2)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuMemcpy2DAsync_v2(&copy, stream);
}

struct block *take_reply_block(struct serve *serve)
{
    bool blocks = carrier->reply_blocks >= 0;
    enum staging_use use = blocks ? (enum staging_use)carrier->reply_blocks : STAGING_SMALL;
    struct block *block = blocks ? staging_take(use, false) : NULL;

    if (!block)
        serve_let_others_read(serve);
    if (!block && blocks)
        block = staging_take(use, true);
    return block;
}

void serve_read_rows(struct serve *serve, const struct args_read_rows *args, CUstream stream)
{
    if (!rows_valid(serve, args->src, args->pitch, args->width, args->rows))
        return;
    if (args->reply_room < args->width * args->rows) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    struct block *block = take_reply_block(serve);
    void *data = block ? block->data : serve->bytes;
    serve_fail(serve, serve_copy_rows(args, data, stream));
    if (!serve_failed(serve))
        serve_fail(serve, serve_wait_stream(serve, stream));
    if (!serve_failed(serve))
        serve_reply_bytes(serve, data, args->width * args->rows);
    if (block)
        staging_give(block);
}

// The program's environment takes precedence over the box's settings.
void serve_paths_forced(struct serve *serve, const struct args_paths_forced *args)
{
    session.paths_forced = args->paths;
}
