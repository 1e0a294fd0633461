// SPDX-License-Identifier: BSD-3-Clause
// Contexts: what belongs to one, which one is current for a thread, and how one is lost to a
// fault. A context's handle stays valid after it was destroyed as long as a thread has it on its
// stack, so that calls answer CONTEXT_IS_DESTROYED rather than crash.
#ifndef SIM_CONTEXT_H
#define SIM_CONTEXT_H

#include <pthread.h>

#include "sim/device.h"
#include "sim/handle.h"

struct stream;

struct context {
    struct sim_object object;
    struct device *device;
    bool primary;
    atomic_uint flags;
    unsigned api_version;
    atomic_ullong id; // new for each life of a primary context
    atomic_int fault; // CUresult that every later call returns; 0: sound
    atomic_bool destroyed;
    atomic_size_t heap_used; // bytes that kernels have from malloc
    atomic_uint peers;       // bit per device: peer access enabled
    atomic_bool cancel;      // gives up waits for values
    atomic_bool settled;     // a kernel was launched since a module was loaded

    pthread_mutex_t lock;       // guards what follows
    struct sim_object *objects; // published objects that go with the context
    struct stream *streams;     // all live ones, default streams included
    struct stream *legacy;
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;

    pthread_mutex_t quiet;      // held by who waits for all work and lets nobody add any
    pthread_mutex_t print_lock; // guards the text that kernels have printed
    char *print_text;
    atomic_size_t print_used;
    size_t print_size;
};

// The calling thread's current context; stays valid for the call. NOT_INITIALIZED,
// INVALID_CONTEXT, CONTEXT_IS_DESTROYED; context_require passes on its sticky fault as well.
CUresult context_current(struct context **out);
CUresult context_require(struct context **out);

// A context by handle, NULL meaning the current one; to be put. INVALID_CONTEXT.
CUresult context_get(CUcontext handle, struct context **out);

// The fault that the context was lost to, CONTEXT_IS_DESTROYED, or success.
CUresult context_status(const struct context *context);

// Loses the context: the first fault counts.
void context_fail(struct context *context, CUresult fault);

// Creates a live context (not current): OUT_OF_MEMORY when the device has not its cost free.
CUresult context_start(struct device *device, unsigned flags, bool primary, struct context **out);
// Gives a primary context that was torn down a new life.
CUresult context_revive(struct context *context, unsigned flags);
// Ends everything in the context; the object lives on until it is put. Only the first call acts.
void context_teardown(struct context *context);

// Waits for all work in the context and shows what kernels printed; its fault, if any.
CUresult context_finish_work(struct context *context);
// The same, and nobody may queue work meanwhile. This is how a GPU's driver frees memory and loads
// code: what would let a held stream go on cannot be queued until the wait is over.
CUresult context_quiesce(struct context *context);

// The same for all contexts: for what may be used by any of them. Their faults are told by their own calls.
CUresult context_quiesce_all(void);

size_t context_limit(struct context *context, CUlimit limit);

// The context's list of objects; used by handle.c.
void context_adopt(struct context *context, struct sim_object *object);
void context_disown(struct context *context, struct sim_object *object);

// Text from a kernel's printf, kept until the next synchronization.
void context_print(void *context, const char *text, size_t size);
void context_flush_print(struct context *context);

// Current-context stack of the calling thread. `context` may be NULL for set.
bool context_flags_valid(unsigned flags); // of creation
CUresult context_stack_push(struct context *context);
CUresult context_stack_pop(CUcontext *handle);
CUresult context_stack_set(struct context *context);
struct context *context_stack_top(void); // may be destroyed; NULL: none

#endif
