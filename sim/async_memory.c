// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation: the address is known at once, the memory is given back when the
// stream comes to the free.
#include "sim/memory.h"
#include "sim/memory_pool.h"
#include "sim/stream.h"

struct free_operation {
    struct operation operation;
    uint64_t address;
};

static bool can_free(const struct memory_range *range)
{
    return range->kind == MEMORY_DEVICE || range->kind == MEMORY_POOL;
}

static CUresult run_free(struct operation *operation, struct stream *stream)
{
    struct free_operation *free_operation = (struct free_operation *)operation;
    (void)memory_release(free_operation->address, can_free, NULL);
    return CUDA_SUCCESS;
}

// When memory is short, frees that wait in the stream may be what is missing.
static CUresult allocate_from(struct memory_pool *pool, struct stream *stream, size_t size,
                              CUdeviceptr *out)
{
    uint64_t address;
    struct context *context = stream->context;
    SIM_TRY(arena_prepare(pool_device(pool)));
    CUresult result = memory_allocate(context, size, MEMORY_POOL, pool, &address);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        SIM_TRY(context_finish_work(context));
        result = memory_allocate(context, size, MEMORY_POOL, pool, &address);
    }
    if (!result)
        *out = address;
    return result;
}

static CUresult allocate_async(CUdeviceptr *out, size_t size, CUstream handle)
{
    struct stream *stream;
    struct memory_pool *pool;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = out && size ? device_current_pool(stream->context->device, &pool)
                                  : CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = allocate_from(pool, stream, size, out);
    object_put(&stream->object);
    return result;
}

SIM_STREAM_API(cuMemAllocAsync, (CUdeviceptr * out, size_t size, CUstream stream),
               allocate_async(out, size, stream))

static CUresult allocate_from_pool(CUdeviceptr *out, size_t size, CUmemoryPool handle,
                                   CUstream stream_handle)
{
    struct stream *stream;
    SIM_TRY(stream_get(stream_handle, &stream));
    struct sim_object *pool = handle_get(OBJECT_POOL, handle);
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (pool && out && size)
        result = allocate_from((struct memory_pool *)pool, stream, size, out);
    if (pool)
        object_put(pool);
    object_put(&stream->object);
    return result;
}

SIM_STREAM_API(cuMemAllocFromPoolAsync,
               (CUdeviceptr * out, size_t size, CUmemoryPool pool, CUstream stream),
               allocate_from_pool(out, size, pool, stream))

static CUresult free_async(CUdeviceptr address, CUstream handle)
{
    struct stream *stream;
    struct memory_range range;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (!address) {
        result = CUDA_SUCCESS;
    } else if (memory_lookup(address, &range) && range.base == address && can_free(&range)) {
        struct free_operation *free_operation =
            operation_create(sizeof(*free_operation), run_free, operation_free);
        result = CUDA_ERROR_OUT_OF_MEMORY;
        if (free_operation) {
            free_operation->address = address;
            free_operation->operation.brief = true;
            result = stream_submit(stream, &free_operation->operation, NULL);
        }
    }
    object_put(&stream->object);
    return result;
}

SIM_STREAM_API(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), free_async(address, stream))
