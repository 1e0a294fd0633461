// SPDX-License-Identifier: BSD-3-Clause
// The graphs of the session and their nodes by name: the handle that the client gave. A graph or
// node that the client has only found has a number of ours below 2^32 until the client gives a
// handle. A graph or node inside another one ends with it.
#ifndef RGPU_WORKER_GRAPH_PARTS_H
#define RGPU_WORKER_GRAPH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/request/context_set.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Ties HANDLE to a graph or a node inside OWNER, a handle (0: nothing); noted where that fails.
void part_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
               uint64_t owner);
// The name of a graph or a node inside what is named OWNER; 0: there is no object, or no memory.
uint64_t part_name(enum handle_kind kind, void *object, uint64_t owner);
// The handle of one that has a name; 0: it has none, or a number.
uint64_t part_known(const void *object);
// The handle of what it is inside; 0: nothing.
uint64_t part_owner(uint64_t handle);
// Returns the number of graphs inside the node NODE, and stores at most ROOM of them.
size_t part_graphs(CUgraphNode node, CUgraph *graphs, size_t room);
// Ends the handle, and what is inside; PART_INSIDE: only that.
enum part_reach { PART_WHOLE, PART_INSIDE };
void part_drop(uint64_t handle, enum part_reach reach);
// Has the part be inside OWNER from now on.
void part_move(uint64_t handle, uint64_t owner);

// The contexts that a graph or a node needs by itself, beside what it needed or instead of that.
// False: no memory.
enum part_need_how { PART_NEEDS_ALSO, PART_NEEDS_ONLY };
bool part_need(uint64_t handle, const struct context_set *contexts, enum part_need_how how)
    __attribute__((warn_unused_result));
// Adds the contexts that it needs with all that is inside. False: no memory.
bool part_contexts(uint64_t handle, struct context_set *out) __attribute__((warn_unused_result));

#endif
