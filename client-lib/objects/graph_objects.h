// SPDX-License-Identifier: BSD-3-Clause
// Graphs and their nodes, as trees: a node is inside its graph, a child graph inside its node. What is inside
// another ends with it. Any thread may call.
#ifndef RGPU_CLIENT_GRAPH_OBJECTS_H
#define RGPU_CLIENT_GRAPH_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/objects/object.h"

// Puts a graph or a node, by its handle, inside OWNER.
void graph_object_enter(const void *handle, const void *owner);
// Takes it out of where it is and puts it inside OWNER.
void graph_object_move(const void *handle, const void *owner);
// Ends what is inside the object, and the object itself unless it is to stay.
void graph_object_drop(const void *handle);
void graph_object_empty(const void *handle);
// The handle of what the object is inside; 0: nothing.
uint64_t graph_object_owner(const void *handle);

// The handle of the graph that all of that is inside of; 0: there is no such object.
uint64_t graph_object_root(const void *handle);

// Around a request that may answer with objects that have no handle yet, and naming them.
void graph_finding_lock(void);
void graph_finding_unlock(void);
#define GRAPH_FINDING(name) \
    __attribute__((cleanup(graph_finding_end))) int name = (graph_finding_lock(), 0)
void graph_finding_end(const int *unused);
// COUNT names as the box gave them become handles; those that had none are put inside OWNER (0: nothing).
// All names of one answer at once: a number is good for that only.
CUresult graph_name_found(struct box_session *session, enum handle_kind kind, uint64_t *names,
                          size_t count, uint64_t owner);
// Memory that the program was given with the parameters of NODE, as long as it has none newer.
void graph_object_keep(const void *node, void *memory);

#endif
