// SPDX-License-Identifier: BSD-3-Clause
// The library's data for each thread of the program: the stack of current contexts, and the
// thread's per-thread default streams.
#ifndef RGPU_CLIENT_THREAD_H
#define RGPU_CLIENT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"

enum { CONTEXT_STACK = 128 };

struct thread_stream {
    uint64_t context;
    uint64_t stream;
    void (*end)(struct thread_stream *stream); // called when the thread ends
    struct thread_stream *next;
};

struct thread_state {
    uint64_t contexts[CONTEXT_STACK]; // handles; [depth - 1] is the current one
    unsigned int depth;
    struct thread_stream *streams;
    CUstreamCaptureMode capture_mode;
};

// Returns this thread's state; NULL if memory or the process's keys for thread-local data have run
// out.
struct thread_state *thread_state(void);
// Returns the handle of the current context; 0: none. It may have been destroyed meanwhile.
uint64_t thread_context(void);
// Finds the object of the current context. Returns an error if there is none.
CUresult thread_context_object(struct object **context);
// The thread's stack of contexts, as in cuCtxPushCurrent, cuCtxPopCurrent and cuCtxSetCurrent.
CUresult thread_push_context(CUcontext context);
CUresult thread_pop_context(CUcontext *context);
CUresult thread_set_context(CUcontext context);

// Starts a detached thread of the library. It receives none of the program's signals.
bool thread_start(void *(*routine)(void *argument), void *argument)
    __attribute__((warn_unused_result));

#endif
