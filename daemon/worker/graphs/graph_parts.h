// SPDX-License-Identifier: BSD-3-Clause
// Names of the session's graphs and nodes. The name is the handle that the client gave, or a number
// below 2^32 for a graph or node that the client has only queried. A graph or node inside another
// one ends with it.
#ifndef RGPU_WORKER_GRAPH_PARTS_H
#define RGPU_WORKER_GRAPH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Ties HANDLE to a graph or node inside the handle OWNER (0: none). Failures are noted.
void part_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
               uint64_t owner);
// Returns the name of OBJECT, a graph or node inside OWNER; creates a number if it has none. 0:
// OBJECT is NULL, or there is no memory.
uint64_t part_name(enum handle_kind kind, void *object, uint64_t owner);
// Returns the handle of OBJECT; 0: it has no name, or a number.
uint64_t part_known(const void *object);
// Returns the handle of the owner; 0: none.
uint64_t part_owner(uint64_t handle);
// Returns the number of graphs inside the node NODE, and stores at most ROOM of them.
size_t part_graphs(CUgraphNode node, CUgraph *graphs, size_t room);
// Ends the handle and all parts inside, or with PART_INSIDE only the parts.
enum part_reach { PART_WHOLE, PART_INSIDE };
void part_drop(uint64_t handle, enum part_reach reach);
// Moves the part into OWNER.
void part_move(uint64_t handle, uint64_t owner);

// Sets the contexts that a graph or node needs itself, besides earlier ones or instead of these.
// Returns false without memory.
enum part_need_how { PART_NEEDS_ALSO, PART_NEEDS_ONLY };
bool part_need(uint64_t handle, const struct context_set *contexts, enum part_need_how how)
    __attribute__((warn_unused_result));
// Adds the contexts that the part and all parts inside need to OUT. Returns false without memory.
bool part_contexts(uint64_t handle, struct context_set *out) __attribute__((warn_unused_result));

#endif
