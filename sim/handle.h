// SPDX-License-Identifier: BSD-3-Clause
// Handles that programs hold: contexts, streams, events, modules and so on. A handle is an index
// with a generation, never an address, so that stale and invented values are found out. Objects
// are counted; a looked-up object stays valid until object_put, whoever destroys it meanwhile.
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
    struct context *context; // owner, counted; NULL where none
    struct sim_object *next; // in the owner's list, under the owner's lock
    struct sim_object *previous;
    void (*destroy)(struct sim_object *object); // frees; called once, without locks held
};

// One reference, held by the creator. `context` may be NULL.
void object_init(struct sim_object *object, enum object_kind kind, struct context *context,
                 void (*destroy)(struct sim_object *));
void object_hold(struct sim_object *object);
void object_put(struct sim_object *object);

// Gives the object a handle and a place in its context's list. CUDA_ERROR_OUT_OF_MEMORY.
CUresult handle_publish(struct sim_object *object);

// Takes the handle away: false when another thread did so first. Drops no reference.
bool handle_revoke(struct sim_object *object);

// The object with one more reference, or NULL: no such handle of that kind. handle_peek: one that the software GPU has
// kept for itself, and may well have outlived its object.
void *handle_get(enum object_kind kind, const void *handle);
void *handle_peek(enum object_kind kind, const void *handle);

// A call names what is gone: where RGPU_SIM_STALE says so the process crashes, as a driver may.
void handle_stale(enum object_kind kind);

// Whether HANDLE is of that kind by its form, live or not.
bool handle_looks_like(enum object_kind kind, const void *handle);

// The next object of that kind from *POSITION on (0 at first), with one more reference; NULL: no more.
void *handle_next(enum object_kind kind, uint32_t *position);

static inline void *object_handle(const struct sim_object *object)
{
    return (void *)(uintptr_t)object->handle;
}

#endif
