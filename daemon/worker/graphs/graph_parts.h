// SPDX-License-Identifier: BSD-3-Clause
// Names of the session's graphs and nodes: the handle that the client gave, or a number below 2^32
// if the client has only queried the object. A graph or node inside another one ends with it.
#ifndef RGPU_WORKER_GRAPH_PARTS_H
#define RGPU_WORKER_GRAPH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Binds HANDLE to a graph or node inside OWNER (0: none). Errors are noted.
void part_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
               uint64_t owner);
// Returns the name of OBJECT, a graph or node inside OWNER; creates a number if it has none. 0:
// OBJECT is NULL, or memory is exhausted.
uint64_t part_name(enum handle_kind kind, void *object, uint64_t owner);
// Returns the handle of OBJECT; 0 if it has none.
uint64_t part_known(const void *object);
// Returns the handle of the owner, or 0.
uint64_t part_owner(uint64_t handle);
// Stores at most ROOM of the graphs inside NODE, and returns their number.
size_t part_graphs(CUgraphNode node, CUgraph *graphs, size_t room);
// Removes the handle and all parts inside; PART_INSIDE: only the parts.
enum part_reach { PART_WHOLE, PART_INSIDE };
void part_drop(uint64_t handle, enum part_reach reach);
// Moves the part into OWNER.
void part_move(uint64_t handle, uint64_t owner);

// Adds CONTEXTS to the contexts that a graph or node needs, or replaces them. Returns false if
// memory is exhausted.
enum part_need_how { PART_NEEDS_ALSO, PART_NEEDS_ONLY };
bool part_need(uint64_t handle, const struct context_set *contexts, enum part_need_how how)
    __attribute__((warn_unused_result));
// Adds the contexts that the part and all parts inside need to OUT. Returns false if memory is
// exhausted.
bool part_contexts(uint64_t handle, struct context_set *out) __attribute__((warn_unused_result));

#endif
