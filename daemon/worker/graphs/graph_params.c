// SPDX-License-Identifier: BSD-3-Clause
// Parses parameters of nodes. Addresses are checked in the same way as those of copies in streams.
#include "daemon/worker/graphs/graph_params.h"

#include <string.h>

#include "proto/wire.h"
#include "daemon/worker/graphs/graph_parts.h"
#include "daemon/worker/execute/serve_launch.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/copy/serve_copy.h"
#include "daemon/worker/core/session.h"

// The structure at the start of DATA; false: noted.
static bool head(struct serve *serve, const void *data, uint32_t size, void *out, uint32_t wanted)
{
    memset(out, 0, wanted);
    if (size < wanted)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        memcpy(out, data, wanted);
    return !serve_failed(serve);
}

// The client is notified of the end of every callback that it has named, also of one that will not
// be called.
static void refuse_callback(struct serve *serve, uint32_t type, const void *data, uint32_t size)
{
    struct wire_copy_node copy;
    struct wire_host_node host;

    if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        head(serve, data, size, &copy, sizeof(copy));
        graph_callback_refuse(copy.callback);
    } else if (type == CU_GRAPH_NODE_TYPE_HOST) {
        head(serve, data, size, &host, sizeof(host));
        graph_callback_refuse(host.callback);
    }
}

static void graph_params_need(struct serve *serve, struct node_params *params, uint64_t context)
{
    if (!context_set_add(&params->contexts, context))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

// The node runs in the context that it names, or in the caller's.
static CUcontext graph_params_context_of(struct serve *serve, uint64_t handle,
                                         struct node_params *params)
{
    graph_params_need(serve, params, handle ? handle : serve_context(serve));
    return handle ? serve_handle(serve, HANDLE_CONTEXT, handle) : serve->current;
}

// Passes each parameter by itself: if all are in one buffer, the driver refuses some attributes
// (COOPERATIVE) of the node as long as it lives. The one-buffer form is for drivers that do not
// report the offsets of parameters.
static void read_parameters(struct serve *serve, uint64_t handle, void *function, uint8_t *packed,
                            uint32_t size, struct node_params *out)
{
    CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &out->params.kernel;
    struct wire_parameter places[NODE_PARAMETERS_MAX];
    uint32_t count, bytes;
    CUresult result = launch_layout(handle, function, places, NODE_PARAMETERS_MAX, &count, &bytes);

    if (result == CUDA_SUCCESS && count <= NODE_PARAMETERS_MAX && bytes <= size) {
        for (uint32_t i = 0; i < count; i++)
            out->parameters[i] = packed + places[i].offset;
        kernel->kernelParams = out->parameters;
    } else if (result == CUDA_ERROR_NOT_SUPPORTED) {
        out->bytes = size;
        out->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
        out->extra[1] = packed;
        out->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
        out->extra[3] = &out->bytes;
        out->extra[4] = CU_LAUNCH_PARAM_END;
        kernel->extra = out->extra;
    } else {
        serve_fail(serve, result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result);
    }
}

static void read_kernel(struct serve *serve, const void *data, uint32_t size,
                        struct node_params *out)
{
    CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &out->params.kernel;
    struct wire_kernel_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    if (wire.bytes != size - sizeof(wire))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    void *function = serve_handle(serve, HANDLE_FUNCTION, wire.function);
    bool is_kernel = handle_type(wire.function) == HANDLE_KERNEL;
    uint64_t place = is_kernel ? wire.context : wire.function;
    if (serve_failed(serve) || !launch_fits(serve, wire.function, function, wire.bytes, place))
        return;
    CUcontext context = is_kernel ? graph_params_context_of(serve, wire.context, out)
                                  : serve->current;
    if (!is_kernel)
        graph_params_need(serve, out, serve_context_of(serve, wire.function));
    *kernel = (CUDA_KERNEL_NODE_PARAMS_v3){
        .func = is_kernel ? NULL : function,
        .kern = is_kernel ? function : NULL,
        .ctx = context,
        .gridDimX = wire.grid[0],
        .gridDimY = wire.grid[1],
        .gridDimZ = wire.grid[2],
        .blockDimX = wire.block[0],
        .blockDimY = wire.block[1],
        .blockDimZ = wire.block[2],
        .sharedMemBytes = wire.shared_bytes,
    };
    if (wire.bytes)
        read_parameters(serve, wire.function, function, (uint8_t *)(uintptr_t)data + sizeof(wire),
                        wire.bytes, out);
}

// The host side of a copy that the client makes is packed in memory of ours.
static void use_buffer(struct serve *serve, const struct wire_copy_node *wire,
                       struct node_params *out)
{
    CUDA_MEMCPY3D *copy = &out->params.memcpy.copyParams;
    bool to_device = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    uint64_t plane, size;

    if (__builtin_mul_overflow((uint64_t)copy->WidthInBytes, (uint64_t)copy->Height, &plane) ||
        __builtin_mul_overflow(plane, (uint64_t)copy->Depth, &size) || !size ||
        (copy->srcMemoryType == CU_MEMORYTYPE_HOST) ==
            (copy->dstMemoryType == CU_MEMORYTYPE_HOST)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    out->call = graph_call_copy(serve, wire->callback, to_device, size);
    if (!out->call)
        return;
    void *buffer = graph_call_buffer(out->call);
    if (to_device) {
        copy->srcHost = buffer;
        copy->srcXInBytes = copy->srcY = copy->srcZ = 0;
        copy->srcPitch = copy->WidthInBytes;
        copy->srcHeight = copy->Height;
    } else {
        copy->dstHost = buffer;
        copy->dstXInBytes = copy->dstY = copy->dstZ = 0;
        copy->dstPitch = copy->WidthInBytes;
        copy->dstHeight = copy->Height;
    }
}

static void read_copy(struct serve *serve, const void *data, uint32_t size, struct node_params *out)
{
    struct wire_copy_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    out->params.memcpy.copyCtx = graph_params_context_of(serve, wire.context, out);
    out->params.memcpy.copyParams = wire.copy;
    if (!wire.callback)
        box_resolve_addresses(serve, &out->params.memcpy.copyParams);
    else
        box_resolve(serve, &out->params.memcpy.copyParams, BOX_DEVICE);
    if (wire.callback && !serve_failed(serve))
        use_buffer(serve, &wire, out);
}

static void read_set(struct serve *serve, const void *data, uint32_t size, struct node_params *out)
{
    struct wire_set_node wire;
    uint64_t bytes, span;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    const CUDA_MEMSET_NODE_PARAMS *set = &wire.params;
    out->params.memset = (CUDA_MEMSET_NODE_PARAMS_v2){
        .dst = set->dst,
        .pitch = set->pitch,
        .value = set->value,
        .elementSize = set->elementSize,
        .width = set->width,
        .height = set->height,
        .ctx = graph_params_context_of(serve, wire.context, out),
    };
    if (!set->height || __builtin_mul_overflow((uint64_t)set->width, set->elementSize, &bytes) ||
        __builtin_mul_overflow((uint64_t)set->height - 1, (uint64_t)set->pitch, &span) ||
        __builtin_add_overflow(bytes, span, &bytes))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        serve_device_range(serve, set->dst, bytes);
}

CUgraph graph_that_lives(struct serve *serve, uint64_t handle, struct context_set *contexts)
{
    CUgraph graph = serve_handle(serve, HANDLE_GRAPH, handle);

    if (graph && !part_contexts(handle, contexts))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (!context_set_lives(contexts))
        serve_fail(serve, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return graph;
}

static void read_host(struct serve *serve, const void *data, uint32_t size, struct node_params *out)
{
    struct wire_host_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    out->call = graph_call_function(serve, wire.callback);
    if (!out->call)
        return;
    CUDA_HOST_NODE_PARAMS called = graph_call_params(out->call);
    out->params.host = (CUDA_HOST_NODE_PARAMS_v2){.fn = called.fn, .userData = called.userData};
}

static void read_child(struct serve *serve, const void *data, uint32_t size,
                       struct node_params *out)
{
    struct wire_child_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    out->params.graph = (CUDA_CHILD_GRAPH_NODE_PARAMS){
        .graph = graph_that_lives(serve, wire.graph, &out->contexts),
        .ownership = (CUgraphChildGraphNodeOwnership)wire.ownership,
    };
}

static void read_event(struct serve *serve, const void *data, uint32_t size,
                       struct node_params *out)
{
    struct wire_event_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    CUevent event = serve_handle(serve, HANDLE_EVENT, wire.event);
    graph_params_need(serve, out, serve_context_of(serve, wire.event));
    if (out->params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
        out->params.eventWait.event = event;
    else
        out->params.eventRecord.event = event;
}

// Devices of the session become the driver's.
static void graph_params_place(struct serve *serve, CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED); // memory of ours would not be the client's
    else
        location->id = serve_device(serve, location->id);
}

static void read_alloc(struct serve *serve, const void *data, uint32_t size,
                       struct node_params *out)
{
    struct wire_alloc_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    uint32_t bytes = wire.access_count * (uint32_t)sizeof(CUmemAccessDesc);
    if (wire.access_count > NODE_ACCESS_MAX || size - sizeof(wire) != bytes) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    memcpy(out->access, (const uint8_t *)data + sizeof(wire), bytes);
    wire.pool.win32SecurityAttributes = NULL;
    graph_params_place(serve, &wire.pool.location);
    for (uint32_t i = 0; i < wire.access_count; i++)
        graph_params_place(serve, &out->access[i].location);
    out->params.alloc = (CUDA_MEM_ALLOC_NODE_PARAMS_v2){
        .poolProps = wire.pool,
        .accessDescs = wire.access_count ? out->access : NULL,
        .accessDescCount = wire.access_count,
        .bytesize = wire.size,
    };
}

static void read_free(struct serve *serve, const void *data, uint32_t size, struct node_params *out)
{
    struct wire_free_node wire;

    if (head(serve, data, size, &wire, sizeof(wire)))
        out->params.free.dptr = wire.address;
}

static void read_batch(struct serve *serve, const void *data, uint32_t size,
                       struct node_params *out)
{
    struct wire_batch_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    uint32_t bytes = wire.count * (uint32_t)sizeof(CUstreamBatchMemOpParams);
    if (wire.count > NODE_BATCH_MAX || size - sizeof(wire) != bytes) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    memcpy(out->batch, (const uint8_t *)data + sizeof(wire), bytes);
    out->params.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){
        .ctx = graph_params_context_of(serve, wire.context, out),
        .count = wire.count,
        .paramArray = out->batch,
        .flags = wire.flags,
    };
}

static void read_conditional(struct serve *serve, const void *data, uint32_t size,
                             struct node_params *out)
{
    struct wire_conditional_node wire;

    if (!head(serve, data, size, &wire, sizeof(wire)))
        return;
    if (!wire.size || wire.size > NODE_GRAPHS_MAX ||
        size - sizeof(wire) != wire.size * sizeof(uint64_t)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    out->graphs = (const void *)((const uint8_t *)data + sizeof(wire));
    out->graph_count = wire.size;
    out->params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = wire.handle,
        .type = (CUgraphConditionalNodeType)wire.type,
        .size = wire.size,
        .ctx = graph_params_context_of(serve, wire.context, out),
    };
}

void node_params_read(struct serve *serve, uint32_t type, const void *data, uint32_t size,
                      struct node_params *out)
{
    static void (*const reads[])(struct serve *, const void *, uint32_t, struct node_params *) = {
        [CU_GRAPH_NODE_TYPE_KERNEL] = read_kernel,
        [CU_GRAPH_NODE_TYPE_MEMCPY] = read_copy,
        [CU_GRAPH_NODE_TYPE_MEMSET] = read_set,
        [CU_GRAPH_NODE_TYPE_HOST] = read_host,
        [CU_GRAPH_NODE_TYPE_GRAPH] = read_child,
        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = read_event,
        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = read_event,
        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = read_alloc,
        [CU_GRAPH_NODE_TYPE_MEM_FREE] = read_free,
        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = read_batch,
        [CU_GRAPH_NODE_TYPE_CONDITIONAL] = read_conditional,
    };

    memset(&out->params, 0, sizeof(out->params));
    out->call = NULL;
    out->graph_count = 0;
    context_set_clear(&out->contexts);
    out->params.type = (CUgraphNodeType)type;
    if (serve_failed(serve))
        refuse_callback(serve, type, data, size);
    if (serve_failed(serve) || type == CU_GRAPH_NODE_TYPE_EMPTY)
        return;
    if (type < sizeof(reads) / sizeof(reads[0]) && reads[type])
        reads[type](serve, data, size, out);
    else
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    if (!serve_failed(serve))
        return;
    if (out->call)
        graph_call_drop(out->call);
    else
        refuse_callback(serve, type, data, size);
    out->call = NULL;
}
