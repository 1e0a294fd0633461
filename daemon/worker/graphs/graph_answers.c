// SPDX-License-Identifier: BSD-3-Clause
// Replies with parameters of nodes: converts the driver's objects to the client's handles.
#include <string.h>

#include "common/base/handle_table.h"
#include "proto/wire.h"
#include "daemon/worker/graphs/graph_params.h"
#include "daemon/worker/execute/serve_launch.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

enum { PARAMETERS_MAX = 4096 };

// An answer that grows in the reply's buffer.
struct answer {
    struct serve *serve;
    uint32_t size, room;
};

static void *graph_answers_extend(struct answer *answer, uint32_t size)
{
    if (size > answer->room - answer->size) {
        serve_fail(answer->serve, CUDA_ERROR_INVALID_VALUE);
        return NULL;
    }
    void *at = answer->serve->bytes + answer->size;
    answer->size += size;
    memset(at, 0, size);
    return at;
}

static void graph_answers_put(struct answer *answer, const void *data, uint32_t size)
{
    void *at = graph_answers_extend(answer, size);

    if (at)
        memcpy(at, data, size);
}

// ---- kernels ----

struct kernel_search {
    CUfunction function;
    uint64_t found;
};

static void compare_function(void *opaque, uint64_t handle, void *kernel)
{
    struct kernel_search *search = opaque;
    CUfunction function = NULL;

    if (!search->found && driver.cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS &&
        function == search->function)
        search->found = handle;
}

// Returns the client's handle for the node's function: a kernel stands for its function in a
// context.
static uint64_t function_handle(const CUDA_KERNEL_NODE_PARAMS *params)
{
    uint64_t handle = params->kern ? serve_handle_of(HANDLE_KERNEL, params->kern) : 0;

    if (!handle && params->func)
        handle = serve_handle_of(HANDLE_FUNCTION, params->func);
    if (!handle && params->func)
        handle = serve_handle_of(HANDLE_KERNEL, params->func);
    if (handle || !params->func || !driver.cuKernelGetFunction)
        return handle;
    struct kernel_search search = {.function = params->func};
    handle_table_each(session.handles, HANDLE_KERNEL, compare_function, &search);
    return search.found;
}

static const void *graph_answers_extra_buffer(void *const *extra, size_t *size)
{
    const void *buffer = NULL;

    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(const size_t *)extra[1];
    return buffer;
}

static void put_parameters(struct answer *answer, uint64_t handle,
                           const CUDA_KERNEL_NODE_PARAMS *params, uint32_t *bytes)
{
    struct wire_parameter places[PARAMETERS_MAX];
    enum handle_kind kind = (enum handle_kind)handle_type(handle);
    void *function = handle_find(session.handles, handle, kind);
    uint32_t count = 0;
    size_t given = 0;

    serve_fail(answer->serve,
               launch_layout(handle, function, places, PARAMETERS_MAX, &count, bytes));
    uint8_t *packed = serve_failed(answer->serve) || count > PARAMETERS_MAX
                          ? NULL
                          : graph_answers_extend(answer, *bytes);
    if (!packed)
        return;
    const void *buffer = graph_answers_extra_buffer(params->extra, &given);
    if (buffer)
        memcpy(packed, buffer, given < *bytes ? given : *bytes);
    for (uint32_t i = 0; !buffer && params->kernelParams && i < count; i++)
        memcpy(packed + places[i].offset, params->kernelParams[i], places[i].size);
}

static void put_kernel(struct answer *answer, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params = {0};
    struct wire_kernel_node *wire = graph_answers_extend(answer, sizeof(*wire));

    if (!wire || !serve_require(answer->serve, driver.cuGraphKernelNodeGetParams_v2))
        return;
    serve_fail(answer->serve, driver.cuGraphKernelNodeGetParams_v2(node, &params));
    if (serve_failed(answer->serve))
        return;
    *wire = (struct wire_kernel_node){
        .function = function_handle(&params),
        .context = params.ctx ? serve_handle_of(HANDLE_CONTEXT, params.ctx) : 0,
        .grid = {params.gridDimX, params.gridDimY, params.gridDimZ},
        .block = {params.blockDimX, params.blockDimY, params.blockDimZ},
        .shared_bytes = params.sharedMemBytes,
    };
    if (wire->function)
        put_parameters(answer, wire->function, &params, &wire->bytes);
}

// ---- copies ----

static CUresult host_params(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out)
{
    return driver.cuGraphHostNodeGetParams ? driver.cuGraphHostNodeGetParams(node, out)
                                           : CUDA_ERROR_NOT_SUPPORTED;
}

bool node_is_copy(CUgraphNode node, struct copy_nodes *out)
{
    CUgraph graph = NULL;
    CUgraphNode nodes[2];
    CUgraphNodeType types[2];
    size_t count = 0;
    bool copies = false;

    if (driver.cuGraphChildGraphNodeGetGraph(node, &graph) != CUDA_SUCCESS ||
        driver.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || count != 2 ||
        driver.cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < 2; i++)
        if (driver.cuGraphNodeGetType(nodes[i], &types[i]) != CUDA_SUCCESS)
            return false;
    int call = types[0] == CU_GRAPH_NODE_TYPE_HOST ? 0 : 1;
    out->call = nodes[call];
    out->copy = nodes[!call];
    return types[call] == CU_GRAPH_NODE_TYPE_HOST && types[!call] == CU_GRAPH_NODE_TYPE_MEMCPY &&
           host_params(out->call, &out->called) == CUDA_SUCCESS &&
           graph_call_of(&out->called, &copies) && copies;
}

// 0 for one that has been destroyed since.
static void name_array(CUarray *array)
{
    if (*array)
        *array = (CUarray)(uintptr_t)serve_handle_of(HANDLE_ARRAY, *array);
}

static void put_copy(struct answer *answer, CUgraphNode node, uint64_t callback)
{
    struct wire_copy_node *wire = graph_answers_extend(answer, sizeof(*wire));

    if (!wire || !serve_require(answer->serve, driver.cuGraphMemcpyNodeGetParams))
        return;
    wire->callback = callback;
    serve_fail(answer->serve, driver.cuGraphMemcpyNodeGetParams(node, &wire->copy));
    name_array(&wire->copy.srcArray);
    name_array(&wire->copy.dstArray);
}

static void put_child(struct answer *answer, CUgraphNode node, uint32_t *type)
{
    struct copy_nodes copy;
    bool copies;

    if (!node_is_copy(node, &copy))
        return;
    *type = CU_GRAPH_NODE_TYPE_MEMCPY;
    put_copy(answer, copy.copy, graph_call_of(&copy.called, &copies));
}

// ---- the other kinds ----

static void put_set(struct answer *answer, CUgraphNode node)
{
    struct wire_set_node wire = {0};

    if (!serve_require(answer->serve, driver.cuGraphMemsetNodeGetParams))
        return;
    serve_fail(answer->serve, driver.cuGraphMemsetNodeGetParams(node, &wire.params));
    graph_answers_put(answer, &wire, sizeof(wire));
}

static void put_host(struct answer *answer, CUgraphNode node)
{
    CUDA_HOST_NODE_PARAMS params = {0};
    bool copies;

    serve_fail(answer->serve, host_params(node, &params));
    struct wire_host_node wire = {
        .callback = serve_failed(answer->serve) ? 0 : graph_call_of(&params, &copies)};
    graph_answers_put(answer, &wire, sizeof(wire));
}

static void graph_answers_put_event(struct answer *answer, CUgraphNode node, bool records)
{
    CUresult (*get)(CUgraphNode, CUevent *) = records ? driver.cuGraphEventRecordNodeGetEvent
                                                      : driver.cuGraphEventWaitNodeGetEvent;
    CUevent event = NULL;

    if (!serve_require(answer->serve, get))
        return;
    serve_fail(answer->serve, get(node, &event));
    struct wire_event_node wire = {.event = event ? serve_handle_of(HANDLE_EVENT, event) : 0};
    graph_answers_put(answer, &wire, sizeof(wire));
}

static int session_place(CUmemLocation location)
{
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? session_number_of(location.id)
                                                        : location.id;
}

static void put_alloc(struct answer *answer, CUgraphNode node)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {0};

    if (!serve_require(answer->serve, driver.cuGraphMemAllocNodeGetParams))
        return;
    serve_fail(answer->serve, driver.cuGraphMemAllocNodeGetParams(node, &params));
    if (serve_failed(answer->serve))
        return;
    struct wire_alloc_node wire = {.pool = params.poolProps,
                                   .size = params.bytesize,
                                   .address = params.dptr,
                                   .access_count = (uint32_t)params.accessDescCount};
    wire.pool.location.id = session_place(wire.pool.location);
    graph_answers_put(answer, &wire, sizeof(wire));
    for (size_t i = 0; i < params.accessDescCount; i++) {
        CUmemAccessDesc access = params.accessDescs[i];
        access.location.id = session_place(access.location);
        graph_answers_put(answer, &access, sizeof(access));
    }
}

static void put_free(struct answer *answer, CUgraphNode node)
{
    CUdeviceptr address = 0;

    if (!serve_require(answer->serve, driver.cuGraphMemFreeNodeGetParams))
        return;
    serve_fail(answer->serve, driver.cuGraphMemFreeNodeGetParams(node, &address));
    struct wire_free_node wire = {.address = address};
    graph_answers_put(answer, &wire, sizeof(wire));
}

static void put_batch(struct answer *answer, CUgraphNode node)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {0};

    if (!serve_require(answer->serve, driver.cuGraphBatchMemOpNodeGetParams))
        return;
    serve_fail(answer->serve, driver.cuGraphBatchMemOpNodeGetParams(node, &params));
    if (serve_failed(answer->serve))
        return;
    struct wire_batch_node wire = {
        .context = params.ctx ? serve_handle_of(HANDLE_CONTEXT, params.ctx) : 0,
        .count = params.count,
        .flags = params.flags,
    };
    graph_answers_put(answer, &wire, sizeof(wire));
    graph_answers_put(answer, params.paramArray,
                      params.count * (uint32_t)sizeof(params.paramArray[0]));
}

void node_params_answer(struct serve *serve, CUgraphNode node, uint32_t room, uint32_t *type)
{
    struct answer answer = {.serve = serve, .room = room};
    CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;

    if (!serve_require(serve, driver.cuGraphNodeGetType))
        return;
    serve_fail(serve, driver.cuGraphNodeGetType(node, &kind));
    *type = kind;
    if (serve_failed(serve))
        return;
    switch (kind) {
    case CU_GRAPH_NODE_TYPE_KERNEL: put_kernel(&answer, node); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: put_copy(&answer, node, 0); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: put_set(&answer, node); break;
    case CU_GRAPH_NODE_TYPE_HOST: put_host(&answer, node); break;
    case CU_GRAPH_NODE_TYPE_GRAPH: put_child(&answer, node, type); break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: graph_answers_put_event(&answer, node, false); break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: graph_answers_put_event(&answer, node, true); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: put_alloc(&answer, node); break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: put_free(&answer, node); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: put_batch(&answer, node); break;
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: break;
    }
    if (!serve_failed(serve))
        serve_reply_bytes(serve, serve->bytes, answer.size);
}
