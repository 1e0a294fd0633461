// SPDX-License-Identifier: BSD-3-Clause
// The process's table of handles, and the pool of their objects.
#include "client-lib/cuda/objects/object.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/exec_names.h"
#include "common/base/handle_table.h"
#include "common/base/scope.h"

enum { SLAB = 256 };

static struct handle_table *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *free_objects;

static void make_table(void)
{
    table = handle_table_new(1);
}

static struct object *take_object(void)
{
    SCOPED_LOCK(&lock);
    if (!free_objects) {
        struct object *slab = calloc(SLAB, sizeof(*slab));
        for (int i = 0; slab && i < SLAB; i++) {
            slab[i].next = free_objects;
            free_objects = &slab[i];
        }
    }
    struct object *object = free_objects;
    if (object)
        free_objects = object->next;
    return object;
}

static void give_object(struct object *object)
{
    SCOPED_LOCK(&lock);
    object->next = free_objects;
    free_objects = object;
}

struct object *object_find(enum handle_kind kind, const void *handle)
{
    if (!handle || !table)
        return NULL;
    struct object *object = handle_find(table, (uintptr_t)handle, kind);
    if (!object && kind == HANDLE_FUNCTION)
        object = handle_find(table, (uintptr_t)handle, HANDLE_KERNEL);
    if (!object && kind == HANDLE_EXEC)
        object = handle_find(table, exec_named((uintptr_t)handle), HANDLE_EXEC);
    return object;
}

CUresult object_missing(enum handle_kind kind, const void *handle)
{
    if (kind == HANDLE_CONTEXT)
        return handle ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    bool tells = kind == HANDLE_STREAM || kind == HANDLE_ARRAY || kind == HANDLE_MIPMAP;
    return tells && handle_type((uintptr_t)handle) == kind ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                           : wire_wrong_handle(kind);
}

struct object *object_new(enum handle_kind kind, struct box_session *session, uint64_t context)
{
    pthread_once(&once, make_table);
    struct object *object = table ? take_object() : NULL;
    if (!object)
        return NULL;
    memset(object, 0, sizeof(*object));
    object->kind = kind;
    object->session = session;
    object->context = context;
    object->handle = handle_mint(table, kind, object);
    if (!object->handle) {
        give_object(object);
        return NULL;
    }
    return object;
}

uint64_t context_wire(uint64_t context)
{
    const struct object *object = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)context);
    return object ? object->ctx.wire : 0;
}

uint64_t context_root(uint64_t context)
{
    const struct object *object = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)context);
    return object ? object->ctx.root : context;
}

void object_retire(enum handle_kind kind, uint64_t handle)
{
    struct object *object = handle_release(table, handle, kind);
    if (!object)
        return;
    if (kind == HANDLE_FUNCTION || kind == HANDLE_KERNEL) {
        free(object->function.layout);
        free(object->function.name);
        free(object->function.answers);
        free(object->function.old_launch);
    }
    if (kind == HANDLE_EXEC)
        exec_unname(handle);
    if (kind == HANDLE_LINK)
        free(object->link.image);
    if (kind == HANDLE_GRAPH || kind == HANDLE_NODE)
        free(object->part.kept);
    if (kind == HANDLE_CALLBACK)
        free(object->callback.copy);
    give_object(object);
}

struct visit {
    void (*visit)(void *argument, struct object *object);
    void *argument;
};

static void visit_object(void *argument, uint64_t handle, void *object)
{
    struct visit *v = argument;
    v->visit(v->argument, object);
}

void object_each(enum handle_kind kind, void (*visit)(void *argument, struct object *object),
                 void *argument)
{
    struct visit v = {visit, argument};
    if (table)
        handle_table_each(table, kind, visit_object, &v);
}
