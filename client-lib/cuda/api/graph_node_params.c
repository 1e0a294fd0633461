// SPDX-License-Identifier: BSD-3-Clause
// Packs the parameters of nodes. Invalid parameters are refused here if possible, since requests
// that add nodes are not awaited.
#include "client-lib/cuda/api/graph_node_params.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/copy/copies.h"
#include "client-lib/cuda/copy/graph_copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "client-lib/cuda/work/callbacks.h"
#include "client-lib/cuda/work/launching.h"
#include "client-lib/cuda/objects/object.h"
#include "proto/wire.h"

// Stores HEAD, followed by COUNT elements of SIZE bytes, as the data of OUT.
static CUresult graph_node_params_put(struct node_data *out, const void *head, size_t head_size,
                                      const void *elements, size_t count, size_t size)
{
    size_t bytes = count * size;
    if (count > WIRE_INLINE_MAX / size)
        return CUDA_ERROR_INVALID_VALUE;
    out->data = malloc(head_size + bytes);
    if (!out->data)
        return CUDA_ERROR_OUT_OF_MEMORY;
    out->size = head_size + bytes;
    memcpy(out->data, head, head_size);
    if (bytes)
        memcpy((uint8_t *)out->data + head_size, elements, bytes);
    return CUDA_SUCCESS;
}
#define PUT(out, head) graph_node_params_put((out), &(head), sizeof(head), NULL, 0, 1)

static CUresult context_name(const struct box_session *session, CUcontext context, uint64_t *wire)
{
    const struct object *object = object_find(HANDLE_CONTEXT, context);
    *wire = object ? object->ctx.wire : 0;
    return !context || (object && object->session == session) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

// Checks that the object belongs to the graph's box.
static CUresult object_name(const struct box_session *session, enum handle_kind kind,
                            const void *handle, uint64_t *wire)
{
    const struct object *object = object_find(kind, handle);
    if (!object || object->session != session)
        return wire_wrong_handle(kind);
    *wire = object->handle;
    return CUDA_SUCCESS;
}

static CUresult graph_node_params_make_kernel(struct box_session *session,
                                              const CUgraphNodeParams *params,
                                              struct node_data *out)
{
    struct wire_kernel_node *wire;
    CUresult result = kernel_node_pack(&params->kernel, session, &wire, &out->size);
    if (result == CUDA_SUCCESS)
        out->data = wire;
    return result;
}

static CUresult graph_node_params_make_copy(struct box_session *session,
                                            const CUgraphNodeParams *params, struct node_data *out)
{
    struct wire_copy_node wire;
    CUresult result = graph_copy_describe(session, &params->memcpy.copyParams, &wire);
    if (result != CUDA_SUCCESS)
        return result;
    out->callback = wire.callback;
    result = context_name(session, params->memcpy.copyCtx, &wire.context);
    if (result == CUDA_SUCCESS && graph_copy_is_here(&wire)) {
        struct wire_host_node call = {.callback = wire.callback};
        out->type = CU_GRAPH_NODE_TYPE_HOST;
        result = PUT(out, call);
    } else if (result == CUDA_SUCCESS) {
        result = PUT(out, wire);
    }
    if (result != CUDA_SUCCESS)
        node_data_abandon(out);
    return result;
}

static bool set_fits(const CUDA_MEMSET_NODE_PARAMS_v2 *set)
{
    unsigned int size = set->elementSize;
    struct allocation found;
    size_t span;
    if ((size != 1 && size != 2 && size != 4) || !set->width || !set->height || set->dst % size ||
        (size < 4 && set->value >> 8 * size) ||
        !fill_span(set->pitch, size, set->width, set->height, &span))
        return false;
    return memory_find_span(set->dst, span, &found);
}

static CUresult make_set(struct box_session *session, const CUgraphNodeParams *params,
                         struct node_data *out)
{
    const CUDA_MEMSET_NODE_PARAMS_v2 *set = &params->memset;
    struct wire_set_node wire = {.params = {.pitch = set->pitch,
                                            .value = set->value,
                                            .elementSize = set->elementSize,
                                            .width = set->width,
                                            .height = set->height}};
    CUresult result = context_name(session, set->ctx, &wire.context);
    if (result == CUDA_SUCCESS && !set_fits(set))
        return CUDA_ERROR_INVALID_VALUE;
    wire.params.dst = host_pointers_address(set->dst);
    return result == CUDA_SUCCESS ? PUT(out, wire) : result;
}

static CUresult make_host(struct box_session *session, const CUgraphNodeParams *params,
                          struct node_data *out)
{
    if (!params->host.fn)
        return CUDA_ERROR_INVALID_VALUE;
    struct wire_host_node wire = {
        .callback = callback_function(session, params->host.fn, params->host.userData)};
    out->callback = wire.callback;
    CUresult result = wire.callback ? PUT(out, wire) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        node_data_abandon(out);
    return result;
}

static CUresult graph_node_params_make_child(struct box_session *session,
                                             const CUgraphNodeParams *params, struct node_data *out)
{
    struct wire_child_node wire = {.ownership = params->graph.ownership};
    CUresult result = object_name(session, HANDLE_GRAPH, params->graph.graph, &wire.graph);
    return result == CUDA_SUCCESS ? PUT(out, wire) : result;
}

static CUresult graph_node_params_make_event(struct box_session *session,
                                             const CUgraphNodeParams *params, struct node_data *out)
{
    CUevent event = params->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? params->eventWait.event
                                                                  : params->eventRecord.event;
    struct wire_event_node wire;
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = object_name(session, HANDLE_EVENT, event, &wire.event);
    return result == CUDA_SUCCESS ? PUT(out, wire) : result;
}

// The box numbers its own devices.
static bool place_on_box(const struct box_session *session, CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return true;
    bool here = session_of_device(location->id) == session;
    location->id = box_device_number(location->id);
    return here;
}

static CUresult make_alloc(struct box_session *session, const CUgraphNodeParams *params,
                           struct node_data *out)
{
    const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc = &params->alloc;
    struct wire_alloc_node wire = {.pool = alloc->poolProps,
                                   .size = alloc->bytesize,
                                   .access_count = (uint32_t)alloc->accessDescCount};
    wire.pool.win32SecurityAttributes = NULL;
    if (!alloc->bytesize || (alloc->accessDescCount && !alloc->accessDescs) ||
        !place_on_box(session, &wire.pool.location))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = graph_node_params_put(out, &wire, sizeof(wire), alloc->accessDescs,
                                            alloc->accessDescCount, sizeof(alloc->accessDescs[0]));
    CUmemAccessDesc *access = result == CUDA_SUCCESS ? (void *)((uint8_t *)out->data + sizeof(wire))
                                                     : NULL;
    for (size_t i = 0; access && i < alloc->accessDescCount; i++)
        if (!place_on_box(session, &access[i].location))
            result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

static CUresult make_free(struct box_session *session, const CUgraphNodeParams *params,
                          struct node_data *out)
{
    struct wire_free_node wire = {.address = params->free.dptr};
    return wire.address ? PUT(out, wire) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_batch(struct box_session *session, const CUgraphNodeParams *params,
                           struct node_data *out)
{
    const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *batch = &params->memOp;
    struct wire_batch_node wire = {.count = batch->count, .flags = batch->flags};
    CUresult result = context_name(session, batch->ctx, &wire.context);
    if (result == CUDA_SUCCESS && (batch->count > 256 || !batch->paramArray))
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS
               ? graph_node_params_put(out, &wire, sizeof(wire), batch->paramArray, batch->count,
                                       sizeof(batch->paramArray[0]))
               : result;
}

// Makes handles for the graphs inside a conditional node.
static CUresult mint_graphs(struct box_session *session, struct node_data *out, uint32_t count)
{
    out->graphs = calloc(count, sizeof(CUgraph));
    if (!out->graphs)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const struct object *graph = object_new(HANDLE_GRAPH, session, 0);
        if (!graph)
            return CUDA_ERROR_OUT_OF_MEMORY;
        out->graphs[i] = (CUgraph)(uintptr_t)graph->handle;
        out->graph_count++;
    }
    return CUDA_SUCCESS;
}

static CUresult make_conditional(struct box_session *session, const CUgraphNodeParams *params,
                                 struct node_data *out)
{
    const CUDA_CONDITIONAL_NODE_PARAMS *conditional = &params->conditional;
    struct wire_conditional_node wire = {.handle = conditional->handle,
                                         .type = conditional->type,
                                         .size = conditional->size};
    CUresult result = context_name(session, conditional->ctx, &wire.context);
    if (result == CUDA_SUCCESS && (!conditional->size || conditional->size > 512))
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = mint_graphs(session, out, conditional->size);
    if (result == CUDA_SUCCESS)
        result = graph_node_params_put(out, &wire, sizeof(wire), out->graphs, conditional->size,
                                       sizeof(uint64_t));
    if (result != CUDA_SUCCESS)
        node_data_abandon(out);
    return result;
}

CUresult node_data_make(struct box_session *session, const CUgraphNodeParams *params,
                        struct node_data *out)
{
    *out = (struct node_data){.type = params->type};
    if (params->reserved0[0] || params->reserved0[1] || params->reserved0[2] || params->reserved2)
        return CUDA_ERROR_INVALID_VALUE;
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return graph_node_params_make_kernel(session, params, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return graph_node_params_make_copy(session, params, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: return make_set(session, params, out);
    case CU_GRAPH_NODE_TYPE_HOST: return make_host(session, params, out);
    case CU_GRAPH_NODE_TYPE_GRAPH: return graph_node_params_make_child(session, params, out);
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return graph_node_params_make_event(session, params, out);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return make_alloc(session, params, out);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return make_free(session, params, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return make_batch(session, params, out);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return make_conditional(session, params, out);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

void node_data_free(struct node_data *data)
{
    free(data->data);
    free(data->graphs);
    *data = (struct node_data){0};
}

void node_data_abandon(struct node_data *data)
{
    if (data->callback)
        callback_drop(data->callback);
    for (uint32_t i = 0; i < data->graph_count; i++)
        object_retire(HANDLE_GRAPH, (uintptr_t)data->graphs[i]);
    data->callback = 0;
    data->graph_count = 0;
}
