// SPDX-License-Identifier: BSD-3-Clause
// Begins and ends captures, and converts captured calls to nodes.
#include <stdlib.h>

#include "sim/graph/node_add.h"
#include "common/base/scope.h"

static CUresult stream_capture_attributes_of(const struct capture_item *item,
                                             struct step_attributes *attributes,
                                             CUgraphEdgeData *edge)
{
    for (unsigned i = 0; i < item->attribute_count; i++) {
        const CUlaunchAttribute *attribute = &item->attributes[i];
        SIM_RETURN_IF(attribute->id >= CU_LAUNCH_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute->value.programmaticStreamSerializationAllowed)
            *edge = (CUgraphEdgeData){.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                      .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_IGNORE ||
            attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            continue;
        attributes->set |= 1u << attribute->id;
        attributes->values[attribute->id] = attribute->value;
    }
    return CUDA_SUCCESS;
}

static struct graph *stream_capture_graph_of(const struct capture_sequence *capture)
{
    return (struct graph *)capture->graph;
}

// Connects the node to the stream's points. A kernel that allows it overlaps with the kernel
// before.
static CUresult connect_node(const struct captured *captured, struct node *node,
                             const CUgraphEdgeData *overlap)
{
    for (size_t i = 0; i < captured->count; i++) {
        struct node *from = (struct node *)captured->points[i].node;
        const CUgraphEdgeData *data = &captured->points[i].edge;
        if (!from->graph)
            continue; // the program removed the node
        if (overlap->type && captured->count == 1 && node_type(from) == CU_GRAPH_NODE_TYPE_KERNEL)
            data = overlap;
        SIM_TRY(edge_add(from, node, data));
    }
    return CUDA_SUCCESS;
}

static CUresult move_on(struct captured *captured, struct node *node)
{
    struct capture_point *points = malloc(sizeof(*points));
    SIM_RETURN_IF(!points, CUDA_ERROR_OUT_OF_MEMORY);
    object_hold(&node->object);
    *points = (struct capture_point){.node = &node->object};
    captured_set_points(captured, points, 1);
    return CUDA_SUCCESS;
}

static CUresult add_captured(struct captured *captured, struct capture_item *item)
{
    struct node *node;
    struct step_attributes attributes = {0};
    CUgraphEdgeData overlap = {0};
    SIM_TRY(stream_capture_attributes_of(item, &attributes, &overlap));
    SIM_TRY(
        node_create(stream_capture_graph_of(captured->capture), &item->params, &attributes, &node));
    CUresult result = connect_node(captured, node, &overlap);
    if (!result)
        result = move_on(captured, node);
    if (result)
        node_remove(node);
    return result;
}

static void stream_capture_give_up(struct sim_object *graph)
{
    graph_destroy((struct graph *)graph);
}

static const struct capture_ops ops = {add_captured, stream_capture_give_up};

static CUresult check_begin(const struct stream *stream, CUstreamCaptureMode mode)
{
    SIM_RETURN_IF((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(stream->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    SIM_RETURN_IF(stream->captured, CUDA_ERROR_ILLEGAL_STATE);
    return CUDA_SUCCESS;
}

// Begins a capture. Called under the lock.
static CUresult stream_capture_begin(struct stream *stream, CUstreamCaptureMode mode)
{
    struct graph *graph;
    struct captured *captured;
    SIM_TRY(check_begin(stream, mode));
    SIM_TRY(graph_create(&graph));
    CUresult result = capture_open(stream, mode, &graph->object, true, &ops, &captured);
    if (result)
        graph_destroy(graph);
    return result;
}

SIM_API(cuStreamBeginCapture_v2, CUstream handle, CUstreamCaptureMode mode)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    SCOPED_LOCK(&graph_mutex);
    return stream_capture_begin(stream, mode);
}

static CUresult stream_capture_begin_in_graph(struct stream *stream, CUgraph handle,
                                              const CUgraphNode *dependencies,
                                              const CUgraphEdgeData *data, size_t count,
                                              CUstreamCaptureMode mode)
{
    static const CUgraphEdgeData plain;
    struct graph *graph;
    struct captured *captured;
    SIM_TRY(check_begin(stream, mode));
    SIM_TRY(graph_find(handle, &graph));
    SIM_TRY(edge_check_dependencies(graph, dependencies, data, count));
    SIM_TRY(capture_open(stream, mode, &graph->object, false, &ops, &captured));
    for (size_t i = 0; i < count; i++) {
        struct node *node;
        CUresult result = node_find(dependencies[i], &node);
        if (!result)
            result = captured_add_point(captured, &node->object, data ? &data[i] : &plain);
        if (result) {
            capture_close(captured->capture);
            return result;
        }
    }
    return CUDA_SUCCESS;
}

SIM_API(cuStreamBeginCaptureToGraph, CUstream handle, CUgraph graph,
        const CUgraphNode *dependencies, const CUgraphEdgeData *data, size_t count,
        CUstreamCaptureMode mode)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    SCOPED_LOCK(&graph_mutex);
    return stream_capture_begin_in_graph(stream, graph, dependencies, data, count, mode);
}

static void mark_before(struct node *node)
{
    if (node->marked)
        return;
    node->marked = true;
    for (size_t i = 0; i < node->before.count; i++)
        mark_before(node->before.items[i].node);
}

// Returns true if all captured work of other streams precedes the origin's points.
static bool all_joined(const struct capture_sequence *capture)
{
    struct graph *graph = stream_capture_graph_of(capture);
    const struct captured *origin = capture->origin->captured;
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->marked = false;
    for (size_t i = 0; i < origin->count; i++)
        mark_before((struct node *)origin->points[i].node);
    for (const struct captured *s = capture->streams; s; s = s->next)
        for (size_t i = 0; i < s->count; i++) {
            const struct node *node = (const struct node *)s->points[i].node;
            if (node->graph && !node->marked)
                return false;
        }
    return true;
}

// Checks that this thread may end the capture in this stream. In a wrong stream the capture becomes
// invalid but continues.
static CUresult check_end(const struct stream *stream)
{
    SIM_RETURN_IF(!stream->captured, CUDA_ERROR_ILLEGAL_STATE);
    struct capture_sequence *capture = stream->captured->capture;
    if (capture->origin != stream) {
        capture_invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    return CUDA_SUCCESS;
}

static CUresult stream_capture_outcome(const struct capture_sequence *capture)
{
    SIM_RETURN_IF(capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                      !pthread_equal(capture->thread, pthread_self()),
                  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    SIM_RETURN_IF(capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return all_joined(capture) ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

// Ends the capture, even on failure; a new graph that is not returned is destroyed. Called under
// the lock.
static CUresult stream_capture_end(struct stream *stream, CUgraph *out)
{
    SIM_TRY(check_end(stream));
    struct capture_sequence *capture = stream->captured->capture;
    struct graph *graph = stream_capture_graph_of(capture);
    bool is_new = capture->graph_is_new;
    CUresult result = stream_capture_outcome(capture);
    capture_close(capture);
    if (!result && out)
        *out = graph_handle(graph);
    else if (is_new)
        graph_destroy(graph);
    return result;
}

SIM_API(cuStreamEndCapture, CUstream handle, CUgraph *out)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    if (out)
        *out = NULL;
    SCOPED_LOCK(&graph_mutex);
    return stream_capture_end(stream, out);
}

SIM_API(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!mode, CUDA_ERROR_INVALID_VALUE);
    *mode = capture_exchange_mode(*mode);
    return CUDA_SUCCESS;
}
