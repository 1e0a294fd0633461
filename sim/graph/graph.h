// SPDX-License-Identifier: BSD-3-Clause
// Graphs and their nodes. A graph is a list of nodes with edges between them. What a node does is its
// step, which is made once from checked parameters, never changes, and is shared by the node, its
// clones and every executable graph that was made of it; other parameters are another step.
//
// All of it is guarded by graph_mutex (sim/capture.h), which the functions here want to be held.
#ifndef SIM_GRAPH_GRAPH_H
#define SIM_GRAPH_GRAPH_H

#include "common/scope.h"
#include "sim/capture.h"
#include "sim/graph/node_step.h"

struct node;

struct edge {
    struct node *node; // the other end
    CUgraphEdgeData data;
};

struct edge_list {
    struct edge *items;
    size_t count;
    size_t capacity;
};

struct node {
    struct sim_object object;
    struct graph *graph; // not counted; NULL once the node has left it
    uint64_t id;         // of this process, never used again
    uint64_t origin;     // id of the node that it was cloned from
    struct node_step *step;
    struct edge_list before; // what it depends on
    struct edge_list after;
    struct graph **parts; // a child graph, or the bodies of a condition; counted
    unsigned part_count;
    CUgraph *part_handles;
    size_t place; // among the graph's nodes, when last numbered
    bool marked;
};

struct graph {
    struct sim_object object;
    uint64_t id;
    uint64_t origin; // id of the graph that it was cloned from
    struct node **nodes;
    size_t node_count;
    size_t node_capacity;
    struct node *owner; // that it is a part of
    bool is_body;       // of a condition
    struct graph_condition *conditions;
    struct retained *users; // user objects
    unsigned memory_nodes;
    unsigned instances; // executable graphs, counted where there are memory nodes
};

// By handle, borrowed under the lock. INVALID_VALUE.
CUresult graph_find(CUgraph handle, struct graph **out);
CUresult node_find(CUgraphNode handle, struct node **out);

CUresult graph_create(struct graph **out); // with a handle
void graph_destroy(struct graph *graph);   // with its nodes, and its handle first

// A node without edges; takes the step over, also on failure. *out is borrowed from the graph.
CUresult node_add(struct graph *graph, struct node_step *step, struct node **out);
void node_remove(struct node *node);
void node_set_step(struct node *node, struct node_step *step); // takes it over
CUresult node_add_part(struct node *node, struct graph *part); // takes it over, also on failure
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

// graph_edges.c. Data may be NULL for plain edges.
CUresult edge_check(const struct node *from, const CUgraphEdgeData *data);
CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data);
void edge_remove_all(struct node *node);
struct edge *edge_find(struct node *from, const struct node *to);
// The nodes of `handles` in that graph; INVALID_VALUE where one is not, or is there twice.
CUresult edge_check_dependencies(struct graph *graph, const CUgraphNode *handles,
                                 const CUgraphEdgeData *data, size_t count);
CUresult edge_add_dependencies(struct node *node, const CUgraphNode *handles,
                               const CUgraphEdgeData *data, size_t count);
// The nodes in an order in which each comes after what it depends on; NULL: there is a circle, or no
// memory (`*result` says which).
struct node **edge_order(struct graph *graph, CUresult *result);

// graph_clone.c: with the same steps, and clones of the parts.
CUresult graph_clone(const struct graph *graph, struct graph **out);

#endif
