// SPDX-License-Identifier: BSD-3-Clause
// Graphs and their nodes, as trees: a graph owns its nodes, and a node owns its child graph.
// Objects end with their owner. Any thread may call.
#ifndef RGPU_CLIENT_GRAPH_OBJECTS_H
#define RGPU_CLIENT_GRAPH_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"

// Puts a graph or a node, named by its handle, inside OWNER.
void graph_object_enter(const void *handle, const void *owner);
// Removes an object from its owner and puts it inside OWNER.
void graph_object_move(const void *handle, const void *owner);
// Ends all objects inside this one, and the object itself unless it must stay.
void graph_object_drop(const void *handle);
void graph_object_empty(const void *handle);
// Returns the handle of the object's owner; 0: none.
uint64_t graph_object_owner(const void *handle);

// Returns the handle of the outermost graph; 0: there is no such object.
uint64_t graph_object_root(const void *handle);

// Hold this during a request that may return objects without handles, until they are named.
void graph_finding_lock(void);
void graph_finding_unlock(void);
#define GRAPH_FINDING(name) \
    __attribute__((cleanup(graph_finding_end))) int name = (graph_finding_lock(), 0)
void graph_finding_end(const int *unused);
// Replaces COUNT names of the box with handles. New objects are put inside OWNER (0: nothing). All
// names of an answer are replaced in one call, because their numbers are valid only for that.
CUresult graph_name_found(struct box_session *session, enum handle_kind kind, uint64_t *names,
                          size_t count, uint64_t owner);
// Keeps memory that the program got with the parameters of NODE, until it gets newer parameters.
void graph_object_keep(const void *node, void *memory);

#endif
