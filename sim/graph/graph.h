// SPDX-License-Identifier: BSD-3-Clause
// Defines graphs and their nodes. A graph is a list of nodes with edges between them. A node's work
// is its step, made once from checked parameters. A step never changes; the node, its clones and
// all executable graphs of it share the step. New parameters make a new step.
//
// graph_mutex (sim/engine/capture.h) guards everything; callers of the functions here hold it.
#ifndef SIM_GRAPH_GRAPH_H
#define SIM_GRAPH_GRAPH_H

#include "common/base/scope.h"
#include "sim/engine/capture.h"
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
    uint64_t id;         // unique in the process, never reused
    uint64_t origin;     // id of the node it was cloned from
    struct node_step *step;
    struct edge_list before; // its dependencies
    struct edge_list after;
    struct graph **parts; // a child graph, or the bodies of a condition; counted
    unsigned part_count;
    CUgraph *part_handles;
    size_t place; // index among the graph's nodes, when last numbered
    bool marked;
};

struct graph {
    struct sim_object object;
    uint64_t id;
    uint64_t origin; // id of the graph it was cloned from
    struct node **nodes;
    size_t node_count;
    size_t node_capacity;
    struct node *owner; // node that the graph is a part of
    bool is_body;       // body of a condition
    struct graph_condition *conditions;
    struct retained *users; // user objects
    unsigned memory_nodes;
    unsigned instances; // executable graphs, counted if there are memory nodes
};

// Look up a graph or node, borrowed under the lock. Return INVALID_VALUE.
CUresult graph_find(CUgraph handle, struct graph **out);
CUresult node_find(CUgraphNode handle, struct node **out);

CUresult graph_create(struct graph **out); // with a handle
void graph_destroy(struct graph *graph);   // with its nodes; the handle is revoked first

// Adds a node without edges; takes over the step, even on failure. *out is borrowed from the graph.
CUresult node_add(struct graph *graph, struct node_step *step, struct node **out);
void node_remove(struct node *node);
void node_set_step(struct node *node, struct node_step *step); // takes over the step
// takes over the part, even on failure
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

// Implemented by graph_edges.c. Data may be NULL for plain edges.
CUresult edge_check(const struct node *from, const CUgraphEdgeData *data);
CUresult edge_add(struct node *from, struct node *to, const CUgraphEdgeData *data);
void edge_remove_all(struct node *node);
struct edge *edge_find(struct node *from, const struct node *to);
// Checks that all `handles` are nodes of that graph. Returns INVALID_VALUE if one is not or occurs
// twice.
CUresult edge_check_dependencies(struct graph *graph, const CUgraphNode *handles,
                                 const CUgraphEdgeData *data, size_t count);
CUresult edge_add_dependencies(struct node *node, const CUgraphNode *handles,
                               const CUgraphEdgeData *data, size_t count);
// Returns the nodes in an order that follows their dependencies. Returns NULL if there is a cycle
// or no memory; `*result` says which.
struct node **edge_order(struct graph *graph, CUresult *result);

// Implemented by graph_clone.c. The clone has the same steps and clones of the parts.
CUresult graph_clone(const struct graph *graph, struct graph **out);

#endif
