// SPDX-License-Identifier: BSD-3-Clause
// The handles of graphs and their nodes, as trees: a graph owns its nodes, and a node owns its
// child graph. If an owner ends, all handles inside it end. Any thread may call.
#ifndef RGPU_CLIENT_GRAPH_OBJECTS_H
#define RGPU_CLIENT_GRAPH_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"

// Makes OWNER the owner of a graph or node. Both are handles.
void graph_object_enter(const void *handle, const void *owner);
// Makes OWNER the owner in place of the former owner.
void graph_object_move(const void *handle, const void *owner);
// graph_object_drop ends an object and all objects inside it; graph_object_empty ends only those
// inside.
void graph_object_drop(const void *handle);
void graph_object_empty(const void *handle);
// Returns the handle of the object's owner; 0 if it has none.
uint64_t graph_object_owner(const void *handle);

// Returns the handle of the outermost graph that contains the object; 0 if there is no such object.
uint64_t graph_object_root(const void *handle);

// Lock and unlock the naming of objects. A thread holds this lock from before a request whose reply
// may contain objects without handles until graph_name_found has given them handles. GRAPH_FINDING
// locks until the end of the block.
void graph_finding_lock(void);
void graph_finding_unlock(void);
#define GRAPH_FINDING(name) \
    __attribute__((cleanup(graph_finding_end))) int name = (graph_finding_lock(), 0)
void graph_finding_end(const int *unused);
// Replaces COUNT values at NAMES, by which the box named objects of KIND in a reply, with handles.
// OWNER becomes the owner of new objects (0: none). One call must replace all names of a reply,
// because the box's numbers for new objects are valid only in that reply.
CUresult graph_name_found(struct box_session *session, enum handle_kind kind, uint64_t *names,
                          size_t count, uint64_t owner);
// Takes ownership of MEMORY (malloc), which the program got with the parameters of NODE. MEMORY
// stays valid until the program gets the node's parameters again, or the node ends.
void graph_object_keep(const void *node, void *memory);

#endif
