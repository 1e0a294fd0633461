// SPDX-License-Identifier: BSD-3-Clause
// Implements stream-ordered allocation. The address is known at once; the memory is given back when
// the stream reaches the free.
#include "sim/engine/capture.h"
#include "sim/engine/memory.h"
#include "sim/engine/memory_pool.h"
#include "sim/engine/stream.h"

struct free_operation {
    struct operation operation;
    uint64_t address;
    bool of_graph;
};

static bool async_memory_can_free(const struct memory_range *range)
{
    return range->kind == MEMORY_DEVICE || range->kind == MEMORY_POOL ||
           (range->kind == MEMORY_IMPORTED && range->pool);
}

static CUresult run_free(struct operation *operation, struct stream *stream)
{
    struct free_operation *free_operation = (struct free_operation *)operation;
    if (free_operation->of_graph)
        memory_graph_finish_free(free_operation->address);
    else
        memory_release_in_order(free_operation->address, async_memory_can_free);
    return CUDA_SUCCESS;
}

// Allocates from the pool. If memory is short, it waits for the stream, whose pending frees may
// provide the memory.
static CUresult allocate_from(struct memory_pool *pool, struct stream *stream, size_t size,
                              CUdeviceptr *out)
{
    uint64_t address;
    struct context *context = stream->context;
    SIM_TRY(capture_check_unsafe());
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

static CUresult capture_allocation(struct memory_pool *pool, struct stream *stream, size_t size,
                                   CUdeviceptr *out)
{
    struct capture_item item = {
        .params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                   .alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                                        pool_device(pool)->index}},
                             .bytesize = size}}};
    SIM_TRY(capture_add(stream, &item));
    *out = item.params.alloc.dptr;
    return CUDA_SUCCESS;
}

static CUresult capture_free(struct stream *stream, CUdeviceptr address)
{
    struct capture_item item = {
        .params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {.dptr = address}}};
    return capture_add(stream, &item);
}

SIM_API(cuMemAllocAsync, CUdeviceptr *out, size_t size, CUstream handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    struct memory_pool *pool;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = out ? device_current_pool(stream->context->device, &pool)
                          : CUDA_ERROR_INVALID_VALUE;
    if (!result && !size)
        *out = 0;
    else if (!result)
        result = capture_contains(stream) ? capture_allocation(pool, stream, size, out)
                                          : allocate_from(pool, stream, size, out);
    return result;
}

SIM_API(cuMemAllocFromPoolAsync, CUdeviceptr *out, size_t size, CUmemoryPool handle,
        CUstream stream_handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(stream_handle, &stream));
    struct sim_object *pool = handle_get(OBJECT_POOL, handle);
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (pool && out && !size) {
        *out = 0;
        result = CUDA_SUCCESS;
    } else if (pool && out && !pool_imported_id((struct memory_pool *)pool)) {
        result = capture_contains(stream)
                     ? capture_allocation((struct memory_pool *)pool, stream, size, out)
                     : allocate_from((struct memory_pool *)pool, stream, size, out);
    }
    if (pool)
        object_put(pool);
    return result;
}

// Queues a free. Graph memory counts as freed for the graphs at once, and is given back in stream
// order. No call may name pool memory after this, even in a stream that reaches it first. Plain
// memory stays valid for calls until the stream reaches the free.
static CUresult submit_free(struct stream *stream, CUdeviceptr address)
{
    struct memory_range range;
    bool of_graph = memory_lookup_graph(address, &range);
    SIM_RETURN_IF(!of_graph && (!memory_lookup(address, &range) || range.base != address ||
                                !async_memory_can_free(&range)),
                  CUDA_ERROR_INVALID_VALUE);
    struct free_operation *free_operation =
        operation_create(sizeof(*free_operation), run_free, operation_free);
    SIM_RETURN_IF(!free_operation, CUDA_ERROR_OUT_OF_MEMORY);
    free_operation->address = address;
    free_operation->of_graph = of_graph;
    free_operation->operation.brief = true;
    CUresult result = of_graph ? memory_graph_begin_free(&range) : CUDA_SUCCESS;
    if (result) {
        operation_discard(&free_operation->operation);
        return result;
    }
    memory_set_leaving(address, true); // before submission, because the free may run at once
    result = stream_submit(stream, &free_operation->operation, NULL);
    if (result)
        memory_set_leaving(address, false);
    return result;
}

SIM_API(cuMemFreeAsync, CUdeviceptr address, CUstream handle)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = CUDA_SUCCESS;
    if (address)
        result = capture_contains(stream) ? capture_free(stream, address)
                                          : submit_free(stream, address);
    return result;
}
