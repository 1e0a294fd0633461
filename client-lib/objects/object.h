// SPDX-License-Identifier: BSD-3-Clause
// What the library remembers of each handle that it gave to the program.
//
// Handles are values of common/handle_table.h, so a wrong one is recognised, never followed.
// Objects are recycled but never unmapped: a program that uses a handle while another thread
// destroys it gets an error or the old behaviour, not a crash.
#ifndef RGPU_CLIENT_OBJECT_H
#define RGPU_CLIENT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

struct box_session;
struct callee_copy;
struct kept_image;
struct old_launch;

enum { CONTEXTS_READY = 8 };

struct parameter_layout {
    uint32_t count;
    uint32_t bytes; // of the packed parameters
    int32_t max_threads;
    int32_t static_shared;               // bytes
    _Atomic uint32_t shared_allowed;     // dynamic bytes that the GPU has accepted, or is known to
    _Atomic uint64_t attributes_allowed; // mark of the launch attributes that it accepted last
    _Atomic uint64_t ready_in[CONTEXTS_READY]; // contexts in which the box has loaded the code
    struct wire_parameter parameters[];
};

struct object {
    enum handle_kind kind;
    uint64_t handle;
    struct box_session *session;
    uint64_t context; // handle of the context it was made in; 0 for libraries, kernels and links
    struct object *next;
    union {
        struct {
            CUdevice device; // as the program numbers it
            unsigned int flags;
            unsigned int api_version;
            bool primary;
            bool green;    // part of a primary one
            uint64_t root; // handle of the primary one of a green context, else its own
            // Its handle on the wire. A primary context keeps its own handle for the life of the
            // process, as programs expect, and gets another one here each time it is made; 0: it
            // is not active.
            _Atomic uint64_t wire;
            uint64_t id;
            _Atomic int sticky; // CUresult after which nothing can be done in it; 0: none
        } ctx;
        struct {
            unsigned int flags;
            int priority;
            uint64_t id;
        } stream;
        struct {
            uint64_t owner; // handle of its module, library or kernel
            struct parameter_layout *layout;
            char *name;
            struct known_attributes *attributes; // NULL: none
            struct object *sibling;              // next of the same owner
            struct object *functions;            // of a kernel, one per context
            struct object *twins;                // of a kernel: the same kernel in other sessions
            struct old_launch *old_launch;       // NULL: it is launched as today
        } function;                              // functions and kernels
        struct {
            struct object *functions; // kernels of a library, functions of a module
            struct object *twins;     // of a library: the same library in other sessions
            struct kept_image *image; // of a library, where there are several sessions
        } module;                     // modules and libraries
        struct {
            bool interprocess; // its records are awaited, since other processes wait for them
        } event;
        struct {
            CUdevice device;
        } pool;
        struct {
            CUdevice device;
            uint64_t size;
            uint64_t granularity; // of what may be mapped of it
            CUmemAllocationProp properties;
            unsigned int uses;     // of its handle
            unsigned int mappings; // at which it is
        } memory;
        struct {
            CUDA_ARRAY3D_DESCRIPTOR descriptor;
            uint64_t whole;         // of a level or plane: handle of what it is of; 0: of nothing
            unsigned int number;    // of the level or plane
            struct object *parts;   // its levels or planes, as far as they have been asked for
            struct object *sibling; // next of them
        } array;                    // arrays and mipmapped arrays
        struct {
            void *image; // what link_complete gave the program
        } link;
        struct {
            struct object *owner, *first, *sibling, *previous; // graph_objects.h
            void *kept; // what the program was given with a node's parameters
            int type;   // of a node, one more than CUgraphNodeType; 0: not known here
        } part;         // graphs and nodes
        struct {
            uint64_t graph; // handle of the one that it was made of
        } exec;
        struct {
            CUhostFn function;
            void *data;
            struct callee_copy *copy; // instead of a function
            bool destructor;
            uint64_t user_object; // that it ends
        } callee;
    };
};

// The live object behind a handle, else NULL. HANDLE_FUNCTION finds kernels too.
struct object *object_find(enum handle_kind kind, const void *handle);
// The driver's error for a handle that is not a live one of KIND. It tells a stream or an array that was destroyed
// from what never was one.
CUresult object_missing(enum handle_kind kind, const void *handle);
// A new object with a fresh handle; NULL where memory has run out.
struct object *object_new(enum handle_kind kind, struct box_session *session, uint64_t context);
// The context that owns what is made in the one of this handle, save streams.
uint64_t context_root(uint64_t context);
// Ends a handle; its object may be reused at once.
void object_retire(enum handle_kind kind, uint64_t handle);
void object_each(enum handle_kind kind, void (*visit)(void *argument, struct object *object),
                 void *argument);

#endif
