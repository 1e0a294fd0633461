// SPDX-License-Identifier: BSD-3-Clause
// Objects: the library's data for each handle that it has given to the program. Any thread may
// call.
//
// Handles are values of common/base/handle_table.h, so a wrong one is recognised, never followed.
// Objects are recycled but never unmapped: a program that uses a handle while another thread
// destroys it gets an error or the old behaviour, not a crash.
#ifndef RGPU_CLIENT_OBJECT_H
#define RGPU_CLIENT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "proto/wire.h"

struct box_session;
struct callback_copy;
struct kept_image;
struct old_launch;

enum { CONTEXTS_READY = 8 }; // entries of ready_in

// The parameters of a function, and limits of its launches.
struct parameter_layout {
    uint32_t count;                      // number of parameters
    uint32_t bytes;                      // of the packed parameters
    int32_t max_threads;                 // maximum of threads in a block
    int32_t static_shared;               // shared memory in bytes
    _Atomic uint32_t shared_allowed;     // dynamic bytes that the GPU is known to accept
    _Atomic uint64_t attributes_allowed; // mark of the launch attributes that the GPU accepted last
    _Atomic uint64_t ready_in[CONTEXTS_READY]; // handles of contexts whose code is loaded
    struct wire_parameter parameters[];
};

struct object {
    enum handle_kind kind; // determines the member of the union
    uint64_t handle;
    struct box_session *session;
    uint64_t context;    // handle of its context; 0 for libraries, kernels and links
    struct object *next; // in a list of twins, or of free objects
    union {
        struct {
            CUdevice device; // in the program's numbering
            unsigned int flags;
            unsigned int api_version;
            bool primary;
            bool green;    // a green context, part of a primary one
            uint64_t root; // handle of the primary one of a green context, else its own
            // The handle that requests carry. A primary context keeps its own handle until the
            // process ends, as programs expect, and gets another one here each time it becomes
            // active; 0: it is not active.
            _Atomic uint64_t wire;
            uint64_t id;        // cuCtxGetId
            _Atomic int sticky; // the error after which the context is unusable; 0: none
        } ctx;
        struct {
            unsigned int flags;
            int priority;
            uint64_t id; // cuStreamGetId
        } stream;
        struct {
            uint64_t owner; // handle of its module, library or kernel
            struct parameter_layout *layout;
            char *name;
            struct known_answers *answers; // NULL: none
            struct object *sibling;        // next of the same owner
            struct object *functions;      // of a kernel, one per context
            struct object *twins;          // of a kernel: the same kernel in other sessions
            struct old_launch *old_launch; // parameters of the old launch calls; NULL: not
                                           // used
        } function;                        // functions and kernels
        struct {
            struct object *functions; // kernels of a library, functions of a module
            struct object *twins;     // of a library: the same library in other sessions
            struct kept_image *image; // of a library, where there are several sessions
        } module;                     // modules and libraries
        struct {
            bool interprocess; // other processes wait for its recordings, so a call that records it
                               // waits for the box
        } event;
        struct {
            CUdevice device;
        } pool;
        struct {
            CUdevice device;
            uint64_t size;
            uint64_t granularity; // required unit of mappings
            CUmemAllocationProp properties;
            unsigned int uses;     // references of the program
            unsigned int mappings; // number of mappings
        } memory;
        struct {
            CUDA_ARRAY3D_DESCRIPTOR descriptor;
            uint64_t whole;         // of a level or plane: handle of the whole array; 0: none
            unsigned int number;    // of the level or plane
            struct object *parts;   // its levels or planes that were requested so far
            struct object *sibling; // next part of the same array
        } array;                    // arrays and mipmapped arrays
        struct {
            void *image; // the image that link_complete returned
        } link;
        struct {
            struct object *owner, *first, *sibling, *previous; // graph_objects.h
            void *kept; // memory that the program got with the node's parameters
            int type;   // of a node, one more than CUgraphNodeType; 0: unknown
        } part;         // graphs and nodes
        struct {
            uint64_t graph; // handle of the graph that it was instantiated from
        } exec;
        struct {
            CUhostFn function;
            void *data;
            struct callback_copy *copy; // instead of a function
            bool destructor;
            uint64_t user_object; // ends when the destructor is called
        } callback;
    };
};

// Returns the object of a handle of KIND that has not ended, else NULL. HANDLE_FUNCTION also finds
// kernels. The library owns the object.
struct object *object_find(enum handle_kind kind, const void *handle);
// Returns the driver's error for HANDLE, which object_find has not found. The error for a destroyed
// stream or array differs from that for a stream or array that never existed.
CUresult object_missing(enum handle_kind kind, const void *handle);
// Creates an object with a new handle, which object_retire ends. Returns NULL if memory has run
// out.
struct object *object_new(enum handle_kind kind, struct box_session *session, uint64_t context);
// Returns the handle of the context that owns the objects, except streams, that are created in
// CONTEXT: for a green context its primary context, else CONTEXT.
uint64_t context_root(uint64_t context);
// Returns the handle of a context (its own handle) on the wire, which changes when a primary one is
// reset; 0: the context is not active, or gone.
uint64_t context_wire(uint64_t context);
// Ends a handle. The object may be reused at once for another handle.
void object_retire(enum handle_kind kind, uint64_t handle);
// Calls VISIT(ARGUMENT, object) for each object of KIND that has not ended.
void object_each(enum handle_kind kind, void (*visit)(void *argument, struct object *object),
                 void *argument);

#endif
