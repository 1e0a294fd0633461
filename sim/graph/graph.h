// SPDX-License-Identifier: BSD-3-Clause
// Graphs, nodes and edges. The work of a node is its step (node_step.h), which is shared by the
// node, its clones and all executable graphs. A step never changes; new parameters make a new step.
//
// graph_mutex (capture.h) guards everything here. Callers of these functions hold it.
#ifndef SIM_GRAPH_GRAPH_H
#define SIM_GRAPH_GRAPH_H

#include "common/base/scope.h"
#include "sim/engine/capture.h"
#include "sim/graph/node_step.h"

struct node;

struct edge {
    struct node *node; // node at the other end
    CUgraphEdgeData data;
};

struct edge_list {
    struct edge *items;
    size_t count;
    size_t capacity;
};

struct node {
    struct sim_object object;
    struct graph *graph; // not counted; NULL once the node is removed
    uint64_t id;         // unique in the process, never reused
    uint64_t origin;     // id of the node that it is a clone of
    struct node_step *step;
    struct edge_list before; // edges from nodes that this one depends on
    struct edge_list after;
    struct graph **parts; // child graph, or bodies of a conditional node; counted
    unsigned part_count;
    CUgraph *part_handles;
    size_t place; // index in graph->nodes, as last assigned
    bool marked;
};

struct graph {
    struct sim_object object;
    uint64_t id;
    uint64_t origin; // id of the graph that it is a clone of
    struct node **nodes;
    size_t node_count;
    size_t node_capacity;
    struct node *owner; // node of which the graph is a part
    bool is_body;       // body of a conditional node
    struct graph_condition *conditions;
    struct retained *users; // references to user objects
    unsigned memory_nodes;
    unsigned instances; // number of executable graphs; counted only if memory_nodes is not 0
};

// Return the object of a handle, borrowed while the caller holds graph_mutex. Return INVALID_VALUE.
CUresult graph_find(CUgraph handle, struct graph **out);
CUresult node_find(CUgraphNode handle, struct node **out);

CUresult graph_create(struct graph **out); // creates the handle too
void graph_destroy(struct graph *graph);   // frees the nodes too; the caller has revoked the handle

// Adds a node without edges. Takes ownership of the step, even on failure. *OUT is borrowed from
// the graph.
CUresult node_add(struct graph *graph, struct node_step *step, struct node **out);
void node_remove(struct node *node);
void node_set_step(struct node *node, struct node_step *step); // takes ownership of the step
// Takes ownership of the part, even on failure.
CUresult node_add_part(struct node *node, struct graph *part);
static inline CUgraphNodeType node_type(const struct node *node)
{
    return step_params(node->step)->type;
}

static inline CUgraphNode node_handle(const struct node *node)
{
    return (CUgraphNode)object_handle(&node->object);
}

static inline CUgraph graph_handle(const struct graph *graph)
{
    return (CUgraph)object_handle(&graph->object);
}

// Edges (graph_edges.c). DATA is NULL for plain edges.
CUresult edge_check(const struct node *from, const CUgraphEdgeData *data);
CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data);
void edge_remove_all(struct node *node);
struct edge *edge_find(struct node *from, const struct node *to);
// Checks that all `handles` are different nodes of the graph. Returns INVALID_VALUE otherwise.
CUresult edge_check_dependencies(struct graph *graph, const CUgraphNode *handles,
                                 const CUgraphEdgeData *data, size_t count);
CUresult edge_add_dependencies(struct node *node, const CUgraphNode *handles,
                               const CUgraphEdgeData *data, size_t count);
// Returns the nodes in an order that respects their dependencies; the caller frees the array.
// Returns NULL and sets *RESULT if there is a cycle or no memory.
struct node **edge_order(struct graph *graph, CUresult *result);

// Clones a graph (graph_clone.c). The clone shares the steps; parts are cloned too.
CUresult graph_clone(const struct graph *graph, struct graph **out);

#endif
