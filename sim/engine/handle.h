// SPDX-License-Identifier: BSD-3-Clause
// Handles of contexts, streams, events, modules and other objects. A handle is an index with a
// generation, not an address, so stale and invalid handles are detected. Objects are reference
// counted: an object stays valid from handle_get to object_put, even if it is destroyed meanwhile.
#ifndef SIM_HANDLE_H
#define SIM_HANDLE_H

#include "sim/sim.h"

enum object_kind {
    OBJECT_CONTEXT = 1,
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_MODULE,
    OBJECT_FUNCTION,
    OBJECT_LIBRARY,
    OBJECT_KERNEL,
    OBJECT_LINK,
    OBJECT_POOL,
    OBJECT_PHYSICAL,
    OBJECT_GRAPH,
    OBJECT_NODE,
    OBJECT_EXEC,
    OBJECT_USER,
    OBJECT_ARRAY,
    OBJECT_MIPMAP,
    OBJECT_TEXTURE,
    OBJECT_SURFACE,
    OBJECT_GREEN,
};

struct context;

struct sim_object {
    enum object_kind kind;
    atomic_int references;
    uint64_t handle;         // 0: no handle yet
    struct context *context; // context of the object, counted reference; NULL: none
    struct sim_object *next; // links of the context's list, guarded by the context's lock
    struct sim_object *previous;
    // frees the object; called without locks when the last reference is dropped
    void (*destroy)(struct sim_object *object);
};

// Initializes an object with one reference, owned by the caller. `context` may be NULL.
void object_init(struct sim_object *object, enum object_kind kind, struct context *context,
                 void (*destroy)(struct sim_object *));
void object_hold(struct sim_object *object);
void object_put(struct sim_object *object);

// Drops the reference in the variable, a pointer to a struct that begins with its object, when its
// scope ends (common/base/scope.h). NULL: none.
#define SCOPED_OBJECT __attribute__((cleanup(object_scope_ends)))
static inline void object_scope_ends(void *variable)
{
    struct sim_object *object = *(struct sim_object **)variable;
    if (object)
        object_put(object);
}

// Creates the object's handle and adds the object to its context's list. Returns OUT_OF_MEMORY.
CUresult handle_publish(struct sim_object *object);

// Makes the handle invalid; drops no reference. Returns false if another thread has done so before.
bool handle_revoke(struct sim_object *object);

// Return the object of a handle with a new reference, or NULL if there is none of this kind.
// handle_get calls handle_stale for a stale handle; handle_peek does not.
void *handle_get(enum object_kind kind, const void *handle);
void *handle_peek(enum object_kind kind, const void *handle);

// Handles the use of a stale handle: crashes the process, as some drivers do, if
// RGPU_SIM_STALE=crash.
void handle_stale(enum object_kind kind);

// Returns true if HANDLE has the format of handles of this kind, even if it is stale.
bool handle_looks_like(enum object_kind kind, const void *handle);

// Returns the next object of a kind with a new reference, or NULL at the end. *POSITION must be 0
// in the first call.
void *handle_next(enum object_kind kind, uint32_t *position);

static inline void *object_handle(const struct sim_object *object)
{
    return (void *)(uintptr_t)object->handle;
}

#endif
