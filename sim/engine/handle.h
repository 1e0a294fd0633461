// SPDX-License-Identifier: BSD-3-Clause
// Implements the handles that programs hold: contexts, streams, events, modules and others. A
// handle is an index with a generation, never an address, so that stale and invented values are
// detected. Objects are counted; an object that was looked up stays valid until object_put, even if
// it is destroyed meanwhile.
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
    uint64_t handle;         // 0: not published
    struct context *context; // owner, counted; NULL if there is no owner
    struct sim_object *next; // in the owner's list, under the owner's lock
    struct sim_object *previous;
    void (*destroy)(struct sim_object *object); // frees the object; called once, with no locks held
};

// Initializes an object with one reference, which the creator holds. `context` may be NULL.
void object_init(struct sim_object *object, enum object_kind kind, struct context *context,
                 void (*destroy)(struct sim_object *));
void object_hold(struct sim_object *object);
void object_put(struct sim_object *object);

// Gives the object a handle and adds it to its context's list. Returns OUT_OF_MEMORY.
CUresult handle_publish(struct sim_object *object);

// Revokes the handle but drops no reference. Returns false if another thread revoked it first.
bool handle_revoke(struct sim_object *object);

// Return the object with one more reference, or NULL if no handle of that kind exists. handle_peek
// serves handles that the simulator keeps itself and that may outlive their object.
void *handle_get(enum object_kind kind, const void *handle);
void *handle_peek(enum object_kind kind, const void *handle);

// Reports use of a stale handle. The process crashes, as a driver may, if RGPU_SIM_STALE says so.
void handle_stale(enum object_kind kind);

// Returns true if HANDLE has the form of that kind, live or not.
bool handle_looks_like(enum object_kind kind, const void *handle);

// Returns the next object of that kind from *POSITION on (initially 0) with one more reference, or
// NULL at the end.
void *handle_next(enum object_kind kind, uint32_t *position);

static inline void *object_handle(const struct sim_object *object)
{
    return (void *)(uintptr_t)object->handle;
}

#endif
