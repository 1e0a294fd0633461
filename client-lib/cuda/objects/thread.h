// SPDX-License-Identifier: BSD-3-Clause
// The library's data for each thread of the program: the stack of current contexts, and the
// thread's per-thread default streams.
#ifndef RGPU_CLIENT_THREAD_H
#define RGPU_CLIENT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"

enum { CONTEXT_STACK = 128 }; // maximum of contexts in a thread's stack

// The per-thread default stream of one thread in one context.
struct thread_stream {
    uint64_t context;                          // handle
    uint64_t stream;                           // handle
    void (*end)(struct thread_stream *stream); // called when the thread ends
    struct thread_stream *next;
};

struct thread_state {
    uint64_t contexts[CONTEXT_STACK]; // handles; [depth - 1] is the current one
    unsigned int depth;               // number of contexts
    struct thread_stream *streams;
    CUstreamCaptureMode capture_mode; // as cuThreadExchangeStreamCaptureMode sets it
};

// Returns the calling thread's state, which the library owns until the thread ends; NULL if memory
// or the process's keys for thread-local data have run out.
struct thread_state *thread_state(void);
// Returns the handle of the current context; 0 if there is none. The context may have been
// destroyed.
uint64_t thread_context(void);
// Finds the object of the current context. Returns an error if there is none or it has been
// destroyed.
CUresult thread_context_object(struct object **context);
// Change the thread's stack of contexts, as cuCtxPushCurrent, cuCtxPopCurrent and cuCtxSetCurrent
// do. thread_pop_context's CONTEXT may be NULL.
CUresult thread_push_context(CUcontext context);
CUresult thread_pop_context(CUcontext *context);
CUresult thread_set_context(CUcontext context);

// Starts a detached thread of the library, which receives none of the program's signals. Returns
// false if the thread cannot be started.
bool thread_start(void *(*routine)(void *argument), void *argument)
    __attribute__((warn_unused_result));

#endif
