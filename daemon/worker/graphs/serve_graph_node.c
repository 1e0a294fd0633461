// SPDX-License-Identifier: BSD-3-Clause
// Nodes: adds them, and gets and sets their parameters in graphs and in executable graphs.
#include "daemon/worker/graphs/serve_graph_node.h"

#include <string.h>

#include "common/base/handle_table.h"
#include "proto/wire.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/graph_charge.h"
#include "daemon/worker/graphs/graph_params.h"
#include "daemon/worker/graphs/graph_parts.h"
#include "daemon/worker/graphs/serve_graph.h"
#include "daemon/worker/graphs/serve_graph_exec.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

static CUresult serve_graph_node_add_node(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *after, size_t count,
                                          const CUgraphEdgeData *edges, CUgraphNodeParams *params)
{
    if (driver.cuGraphAddNode_v2)
        return driver.cuGraphAddNode_v2(node, graph, after, edges, count, params);
    return driver.cuGraphAddNode && !edges
               ? driver.cuGraphAddNode(node, graph, after, count, params)
               : CUDA_ERROR_NOT_SUPPORTED;
}

static CUgraphNodeParams call_node(struct graph_call *call)
{
    CUDA_HOST_NODE_PARAMS called = graph_call_params(call);

    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST,
                               .host = {.fn = called.fn, .userData = called.userData}};
}

// A graph of the copy and, on its side of the client, the call that brings or takes the bytes.
static CUresult fill_copy_graph(CUgraph graph, struct node_params *params)
{
    CUgraphNodeParams called = call_node(params->call);
    bool to_device = params->params.memcpy.copyParams.srcMemoryType == CU_MEMORYTYPE_HOST;
    CUgraphNodeParams *first = to_device ? &called : &params->params;
    CUgraphNodeParams *second = to_device ? &params->params : &called;
    CUgraphNode node, next;
    CUresult result = serve_graph_node_add_node(&node, graph, NULL, 0, NULL, first);

    return result == CUDA_SUCCESS ? serve_graph_node_add_node(&next, graph, &node, 1, NULL, second)
                                  : result;
}

void graph_add_copy(struct serve *serve, CUgraphNode *node, CUgraph graph,
                    const struct dependencies *after, struct node_params *params)
{
    CUgraph inside = NULL;

    if (serve_require(serve, driver.cuGraphCreate))
        serve_fail(serve, driver.cuGraphCreate(&inside, 0));
    if (serve_failed(serve)) {
        graph_call_drop(params->call);
        return;
    }
    serve_fail(serve, fill_copy_graph(inside, params));
    // The graph around it holds the call, as with host nodes: what is instantiated of it does so,
    // too.
    graph_call_give(serve, params->call, graph);
    CUgraphNodeParams child = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = inside}};
    if (!serve_failed(serve))
        serve_fail(serve,
                   serve_graph_node_add_node(node, graph, after->nodes, after->count,
                                             after->with_edges ? after->edges : NULL, &child));
    driver.cuGraphDestroy(inside);
}

static void add_plain(struct serve *serve, CUgraphNode *node, CUgraph graph,
                      const struct dependencies *after, struct node_params *params)
{
    serve_fail(serve,
               serve_graph_node_add_node(node, graph, after->nodes, after->count,
                                         after->with_edges ? after->edges : NULL, &params->params));
    if (params->call && serve_failed(serve))
        graph_call_drop(params->call);
    else if (params->call)
        graph_call_give(serve, params->call, graph);
}

// Notes the client's graphs inside the new node.
static void bind_inside(struct serve *serve, const struct node_params *params, uint64_t node,
                        const struct wire_child_node *child)
{
    const CUDA_CONDITIONAL_NODE_PARAMS *conditional = &params->params.conditional;

    for (uint32_t i = 0; i < params->graph_count && !serve_failed(serve); i++)
        part_bind(serve, HANDLE_GRAPH, params->graphs[i], conditional->phGraph_out[i], node);
    if (params->params.type == CU_GRAPH_NODE_TYPE_GRAPH &&
        params->params.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
        part_move(child->graph, node);
}

static void note_memory(struct serve *serve, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc)
{
    graph_charge_note();
    if (allocation_add_of_graph(alloc->dptr, alloc->bytesize))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

static void serve_graph_node_need(struct serve *serve, uint64_t part,
                                  const struct node_params *params, enum part_need_how how)
{
    if (!serve_failed(serve) && !part_need(part, &params->contexts, how))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

static void serve_graph_node_add(struct serve *serve, uint64_t handle, uint64_t graph_handle,
                                 uint32_t type, uint32_t count, bool edges, const void *data,
                                 uint32_t bytes, uint64_t *address)
{
    static __thread struct dependencies after;
    static __thread struct node_params params;
    CUgraph graph = serve_handle(serve, HANDLE_GRAPH, graph_handle);
    uint32_t skipped = count * (uint32_t)sizeof(struct wire_dependency);
    CUgraphNode node = NULL;

    if (count > DEPENDENCIES_MAX || skipped > bytes) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    dependencies_read(serve, data, bytes, count, edges, &after);
    const void *wire = (const uint8_t *)data + skipped;
    node_params_read(serve, type, wire, bytes - skipped, &params);
    if (serve_failed(serve))
        return;
    if (params.call && type == CU_GRAPH_NODE_TYPE_MEMCPY)
        graph_add_copy(serve, &node, graph, &after, &params);
    else
        add_plain(serve, &node, graph, &after, &params);
    if (!node || serve_failed(serve))
        return;
    part_bind(serve, HANDLE_NODE, handle, node, graph_handle);
    serve_graph_node_need(serve, handle, &params, PART_NEEDS_ALSO);
    bind_inside(serve, &params, handle, wire);
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && address) {
        *address = params.params.alloc.dptr;
        note_memory(serve, &params.params.alloc);
    }
}

void serve_graph_add(struct serve *serve, const struct args_graph_add *args)
{
    serve_graph_node_add(serve, args->node, args->graph, args->type, args->dependencies,
                         args->edges, args + 1, args->bytes, NULL);
}

void serve_graph_add_known(struct serve *serve, const struct args_graph_add_known *args,
                           struct reply_graph_add_known *reply)
{
    serve_graph_node_add(serve, args->node, args->graph, args->type, args->dependencies,
                         args->edges, args + 1, args->bytes, &reply->address);
}

// ---- changes ----

static CUresult serve_graph_node_change(CUgraphExec exec, CUgraphNode node,
                                        CUgraphNodeParams *params)
{
    if (exec)
        return driver.cuGraphExecNodeSetParams ? driver.cuGraphExecNodeSetParams(exec, node, params)
                                               : CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuGraphNodeSetParams ? driver.cuGraphNodeSetParams(node, params)
                                       : CUDA_ERROR_NOT_SUPPORTED;
}

// The graph in which NODE is, to which a call belongs that it makes from now on.
static CUgraph serve_graph_node_graph_of(uint64_t node)
{
    return handle_find(session.handles, part_owner(node), HANDLE_GRAPH);
}

// From now on the caller of the function holds it: the graph of the node, or the instantiated one.
static void serve_graph_node_give(struct serve *serve, uint64_t exec, uint64_t node,
                                  struct graph_call *call)
{
    if (call && serve_failed(serve))
        graph_call_drop(call);
    else if (call && exec)
        graph_call_give_exec(call, exec);
    else if (call)
        graph_call_give(serve, call, serve_graph_node_graph_of(node));
}

// A copy of memory that is not mapped here stays one.
static void change_copy(struct serve *serve, CUgraphExec exec, const struct copy_nodes *nodes,
                        struct node_params *params)
{
    const CUDA_MEMCPY3D *to = &params->params.memcpy.copyParams;
    bool host = to->srcMemoryType == CU_MEMORYTYPE_HOST || to->dstMemoryType == CU_MEMORYTYPE_HOST;

    if (!params->call) {
        serve_fail(serve, host ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
        return;
    }
    CUgraphNodeParams called = call_node(params->call);
    serve_fail(serve, serve_graph_node_change(exec, nodes->copy, &params->params));
    if (!serve_failed(serve))
        serve_fail(serve, serve_graph_node_change(exec, nodes->call, &called));
}

static void set(struct serve *serve, CUgraphExec exec, uint64_t exec_handle, uint64_t handle,
                uint32_t type, const void *data, uint32_t bytes)
{
    static __thread struct node_params params;
    CUgraphNode node = serve_handle(serve, HANDLE_NODE, handle);
    bool is_copy = type == CU_GRAPH_NODE_TYPE_MEMCPY;
    struct copy_nodes copy;

    node_params_read(serve, type, data, bytes, &params);
    if (serve_failed(serve))
        return;
    if (is_copy && node_is_copy(node, &copy))
        change_copy(serve, exec, &copy, &params);
    else if (is_copy &&
             params.call) // the node has an address of ours, and could not wait for bytes
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    else
        serve_fail(serve, serve_graph_node_change(exec, node, &params.params));
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && !exec && !serve_failed(serve))
        part_drop(handle, PART_INSIDE);
    if (exec)
        exec_need(serve, exec_handle, &params.contexts, PART_NEEDS_ALSO);
    else
        serve_graph_node_need(serve, handle, &params, PART_NEEDS_ONLY);
    serve_graph_node_give(serve, exec_handle, handle, params.call);
}

void serve_graph_node_set(struct serve *serve, const struct args_graph_node_set *args)
{
    set(serve, NULL, 0, args->node, args->type, args + 1, args->bytes);
}

void serve_graph_exec_set(struct serve *serve, const struct args_graph_exec_set *args,
                          CUgraphExec exec)
{
    set(serve, exec, args->exec, args->node, args->type, args + 1, args->bytes);
}

void serve_graph_exec_set_known(struct serve *serve, const struct args_graph_exec_set_known *args,
                                CUgraphExec exec)
{
    set(serve, exec, args->exec, args->node, args->type, args + 1, args->bytes);
}

void serve_graph_node_get(struct serve *serve, const struct args_graph_node_get *args,
                          struct reply_graph_node_get *reply, CUgraphNode node)
{
    node_params_answer(serve, node, serve_reply_room(serve, args->reply_room), &reply->type);
}
