// SPDX-License-Identifier: BSD-3-Clause
// Contexts: their objects, each thread's stack of current contexts, and faults. A destroyed
// context's handle stays valid while a thread has the context on its stack; calls then return
// CONTEXT_IS_DESTROYED.
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
    atomic_ullong id; // a primary context gets a new id when it is started again
    atomic_int fault; // CUresult of the first fault, which every later call returns; 0: no fault
    atomic_bool destroyed;
    atomic_size_t heap_used; // bytes that kernels have allocated with malloc
    atomic_uint peers;       // bit mask of devices to which peer access is enabled
    atomic_bool cancel;      // makes waits for memory values end
    atomic_bool settled;     // a kernel was launched since the last module load

    pthread_mutex_t lock;       // guards the fields below
    struct sim_object *objects; // objects with a handle, which are destroyed with the context
    struct stream *streams;     // all streams, including default streams
    struct stream *legacy;
    size_t stream_memory; // number of streams whose memory is charged until the context ends
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;

    pthread_mutex_t quiet;      // held by a thread that blocks new work until all work is done
    pthread_mutex_t print_lock; // guards the output of kernels' printf
    char *print_text;
    atomic_size_t print_used;
    size_t print_size;
};

// Return the calling thread's current context, which stays valid during the call. Errors:
// NOT_INITIALIZED, INVALID_CONTEXT, CONTEXT_IS_DESTROYED; of context_require also the context's
// fault.
CUresult context_current(struct context **out);
CUresult context_require(struct context **out);

// Returns the context of a handle, or the current one for NULL, with a new reference. The caller
// calls object_put. Returns INVALID_CONTEXT.
CUresult context_get(CUcontext handle, struct context **out);

// Returns the context's fault, CONTEXT_IS_DESTROYED, or CUDA_SUCCESS.
CUresult context_status(const struct context *context);

// Sets the context's fault. Only the first one is kept.
void context_fail(struct context *context, CUresult fault);

// Creates a context without making it current. Returns OUT_OF_MEMORY if the device lacks the memory
// for a context.
CUresult context_start(struct device *device, unsigned flags, bool primary, struct context **out);
// Starts a primary context again after its teardown.
CUresult context_revive(struct context *context, unsigned flags);
// Destroys everything in the context; the object is freed with the last reference. Later calls do
// nothing.
void context_teardown(struct context *context);

// Waits for all work of the context and prints its kernels' output. Returns the context's fault.
CUresult context_finish_work(struct context *context);
// As context_finish_work, but no thread can queue work meanwhile, not even work that a waiting
// stream needs to continue. GPU drivers wait like this to free memory and to load code.
CUresult context_quiesce(struct context *context);

// As context_quiesce, for all contexts. Returns no faults.
CUresult context_quiesce_all(void);

size_t context_limit(struct context *context, CUlimit limit);

// Add an object to, or remove it from, the context's list. For handle.c.
void context_adopt(struct context *context, struct sim_object *object);
void context_disown(struct context *context, struct sim_object *object);

// Stores output of a kernel's printf until the next synchronization. CONTEXT is a struct context.
void context_print(void *context, const char *text, size_t size);
void context_flush_print(struct context *context);

// Flags of context creation, and the calling thread's stack of current contexts. CONTEXT may be
// NULL in context_stack_set.
bool context_flags_valid(unsigned flags);
CUresult context_stack_push(struct context *context);
CUresult context_stack_pop(CUcontext *handle);
CUresult context_stack_set(struct context *context);
struct context *context_stack_top(void); // NULL: the stack is empty; may be a destroyed context

#endif
