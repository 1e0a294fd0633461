// SPDX-License-Identifier: BSD-3-Clause
// Trees of graphs and nodes, and handles for those that the program finds.
#include "client-lib/cuda/work/graph_objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/call.h"
#include "common/base/handle_table.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

enum { NAMES_AT_ONCE = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;

static struct object *graph_objects_find(const void *handle)
{
    enum handle_kind kind = (enum handle_kind)handle_type((uintptr_t)handle);
    return kind == HANDLE_GRAPH || kind == HANDLE_NODE ? object_find(kind, handle) : NULL;
}

// ---- trees; the caller holds the lock ----

static void graph_objects_enter(struct object *object, struct object *owner)
{
    object->part.owner = owner;
    object->part.previous = NULL;
    object->part.sibling = owner ? owner->part.first : NULL;
    if (object->part.sibling)
        object->part.sibling->part.previous = object;
    if (owner)
        owner->part.first = object;
}

static void graph_objects_leave(struct object *object)
{
    if (object->part.previous)
        object->part.previous->part.sibling = object->part.sibling;
    else if (object->part.owner)
        object->part.owner->part.first = object->part.sibling;
    if (object->part.sibling)
        object->part.sibling->part.previous = object->part.previous;
}

static void graph_objects_drop(struct object *object);

static void graph_objects_drop_inside(struct object *object)
{
    while (object->part.first)
        graph_objects_drop(object->part.first);
}

static void graph_objects_drop(struct object *object)
{
    graph_objects_drop_inside(object);
    graph_objects_leave(object);
    object_retire(object->kind, object->handle);
}

void graph_object_enter(const void *handle, const void *owner)
{
    SCOPED_LOCK(&lock);
    struct object *object = graph_objects_find(handle);
    if (object)
        graph_objects_enter(object, graph_objects_find(owner));
}

void graph_object_move(const void *handle, const void *owner)
{
    SCOPED_LOCK(&lock);
    struct object *object = graph_objects_find(handle);
    if (!object)
        return;
    graph_objects_leave(object);
    graph_objects_enter(object, graph_objects_find(owner));
}

void graph_object_drop(const void *handle)
{
    SCOPED_LOCK(&lock);
    struct object *object = graph_objects_find(handle);
    if (object)
        graph_objects_drop(object);
}

void graph_object_empty(const void *handle)
{
    SCOPED_LOCK(&lock);
    struct object *object = graph_objects_find(handle);
    if (object)
        graph_objects_drop_inside(object);
}

uint64_t graph_object_owner(const void *handle)
{
    SCOPED_LOCK(&lock);
    const struct object *object = graph_objects_find(handle);
    uint64_t owner = object && object->part.owner ? object->part.owner->handle : 0;
    return owner;
}

uint64_t graph_object_root(const void *handle)
{
    SCOPED_LOCK(&lock);
    const struct object *object = graph_objects_find(handle);
    while (object && object->part.owner)
        object = object->part.owner;
    uint64_t root = object ? object->handle : 0;
    return root;
}

void graph_object_keep(const void *node, void *memory)
{
    SCOPED_LOCK(&lock);
    struct object *object = graph_objects_find(node);
    if (object) {
        free(object->part.kept);
        object->part.kept = memory;
    } else {
        free(memory);
    }
}

// ---- finding ----

void graph_finding_lock(void)
{
    pthread_mutex_lock(&finding);
}

void graph_finding_unlock(void)
{
    pthread_mutex_unlock(&finding);
}

void graph_finding_end(const int *unused)
{
    graph_finding_unlock();
}

static void send_names(struct box_session *session, const struct wire_name *names, size_t count)
{
    struct call call = {.session = session, .op = OP_graph_name};
    size_t bytes = count * sizeof(*names);
    struct args_graph_name *args = count ? call_reserve(&call, sizeof(*args) + bytes) : NULL;
    if (!args)
        return; // there is nothing to send, or the session is lost with all of its objects
    args->bytes = (uint32_t)bytes;
    memcpy(args + 1, names, bytes);
    call_post(&call);
}

static struct object *graph_objects_adopt(struct box_session *session, enum handle_kind kind,
                                          uint64_t owner)
{
    struct object *object = object_new(kind, session, 0);
    SCOPED_LOCK(&lock);
    if (object)
        graph_objects_enter(object, graph_objects_find((const void *)(uintptr_t)owner));
    return object;
}

// Returns the handle of one name. New objects are entered in FRESH.
static CUresult name_one(struct box_session *session, enum handle_kind kind, uint64_t *name,
                         uint64_t owner, struct wire_name *fresh, size_t *count)
{
    if (!*name)
        return CUDA_SUCCESS;
    if (handle_type(*name)) {
        const struct object *known = object_find(kind, (const void *)(uintptr_t)*name);
        return known && known->session == session ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    }
    // An object may be in a list twice, as one end of several edges.
    for (size_t i = 0; i < *count; i++)
        if (fresh[i].number == *name) {
            *name = fresh[i].handle;
            return CUDA_SUCCESS;
        }
    struct object *object = graph_objects_adopt(session, kind, owner);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fresh[(*count)++] = (struct wire_name){*name, object->handle};
    *name = object->handle;
    return CUDA_SUCCESS;
}

CUresult graph_name_found(struct box_session *session, enum handle_kind kind, uint64_t *names,
                          size_t count, uint64_t owner)
{
    SCOPED_FREE struct wire_name *fresh = malloc((count + 1) * sizeof(*fresh));
    CUresult result = fresh ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    size_t found = 0;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = name_one(session, kind, &names[i], owner, fresh, &found);
    for (size_t sent = 0; sent < found; sent += NAMES_AT_ONCE)
        send_names(session, fresh + sent,
                   found - sent < NAMES_AT_ONCE ? found - sent : NAMES_AT_ONCE);
    return result;
}
