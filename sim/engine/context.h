// SPDX-License-Identifier: BSD-3-Clause
// Implements contexts: the objects of a context, the current context of a thread, and how a fault
// loses a context. A destroyed context's handle stays valid while a thread has it on its stack, so
// that calls return CONTEXT_IS_DESTROYED instead of crashing.
#ifndef SIM_CONTEXT_H
#define SIM_CONTEXT_H

#include <pthread.h>

#include "sim/engine/device.h"
#include "sim/engine/handle.h"

struct stream;

struct context {
    struct sim_object object;
    struct device *device;
    bool primary;
    atomic_uint flags;
    unsigned api_version;
    atomic_ullong id; // new for each life of a primary context
    atomic_int fault; // CUresult that every later call returns; 0 if no fault occurred
    atomic_bool destroyed;
    atomic_size_t heap_used; // bytes that kernels hold from malloc
    atomic_uint peers;       // bit per device: peer access enabled
    atomic_bool cancel;      // ends waits for values
    atomic_bool settled;     // a kernel was launched since the last module load

    pthread_mutex_t lock;       // guards the fields below
    struct sim_object *objects; // published objects that end with the context
    struct stream *streams;     // all live ones, default streams included
    struct stream *legacy;
    size_t stream_memory; // streams for which it holds memory until it ends
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;

    pthread_mutex_t quiet;      // held while a thread waits for all work and blocks new work
    pthread_mutex_t print_lock; // guards the text that kernels have printed
    char *print_text;
    atomic_size_t print_used;
    size_t print_size;
};

// Return the calling thread's current context, which stays valid for the call. Errors:
// NOT_INITIALIZED, INVALID_CONTEXT, CONTEXT_IS_DESTROYED; context_require also returns the
// context's sticky fault.
CUresult context_current(struct context **out);
CUresult context_require(struct context **out);

// Looks up a context by handle; NULL means the current one. The caller puts it. Returns
// INVALID_CONTEXT.
CUresult context_get(CUcontext handle, struct context **out);

// Returns the fault that lost the context, CONTEXT_IS_DESTROYED, or CUDA_SUCCESS.
CUresult context_status(const struct context *context);

// Marks the context as lost. Only the first fault is kept.
void context_fail(struct context *context, CUresult fault);

// Creates a live context that is not current. Returns OUT_OF_MEMORY if the device lacks memory for
// the context's cost.
CUresult context_start(struct device *device, unsigned flags, bool primary, struct context **out);
// Gives a primary context a new life after its teardown.
CUresult context_revive(struct context *context, unsigned flags);
// Destroys everything in the context; the object lives until its last reference is put. Only the
// first call acts.
void context_teardown(struct context *context);

// Waits for all work in the context and prints the output of kernels. Returns the context's fault,
// if any.
CUresult context_finish_work(struct context *context);
// Does the same, and blocks new work until the wait is over. GPU drivers free memory and load code
// this way: work that would let a waiting stream go on cannot be queued meanwhile.
CUresult context_quiesce(struct context *context);

// Does the same for all contexts, for memory that any of them may use. Faults are reported by the
// contexts' own calls.
CUresult context_quiesce_all(void);

size_t context_limit(struct context *context, CUlimit limit);

// Add to and remove from the context's list of objects; used by handle.c.
void context_adopt(struct context *context, struct sim_object *object);
void context_disown(struct context *context, struct sim_object *object);

// Keeps text of a kernel's printf until the next synchronization.
void context_print(void *context, const char *text, size_t size);
void context_flush_print(struct context *context);

// These functions change the calling thread's stack of current contexts. `context` may be NULL for
// set.
bool context_flags_valid(unsigned flags); // for flags of context creation
CUresult context_stack_push(struct context *context);
CUresult context_stack_pop(CUcontext *handle);
CUresult context_stack_set(struct context *context);
struct context *context_stack_top(void); // may be destroyed; NULL: none

#endif
