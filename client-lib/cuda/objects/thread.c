// SPDX-License-Identifier: BSD-3-Clause
// Thread-local state, and its end with the thread; threads of the library.
#include "client-lib/cuda/objects/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/session/process.h"
#include "common/base/log.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"

static __thread struct thread_state *state;
static pthread_key_t key;
static bool key_made; // under lock
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void thread_ends(void *value)
{
    struct thread_state *ended = value;
    while (ended->streams) {
        struct thread_stream *stream = ended->streams;
        ended->streams = stream->next;
        if (process_ready() == CUDA_SUCCESS)
            stream->end(stream);
        free(stream);
    }
    free(ended);
    state = NULL;
}

// The program may use up all keys of the process, and release one later, so this tries again.
static bool key_ready(void)
{
    SCOPED_LOCK(&lock);
    if (!key_made) {
        int err = pthread_key_create(&key, thread_ends);
        key_made = !err;
        if (err)
            log_error("no key for the state of threads error=\"%s\"", strerror(err));
    }
    return key_made;
}

static struct thread_state *make_state(void)
{
    struct thread_state *made = key_ready() ? calloc(1, sizeof(*made)) : NULL;
    if (made && pthread_setspecific(key, made) != 0) {
        free(made);
        made = NULL;
    }
    return made;
}

struct thread_state *thread_state(void)
{
    if (__builtin_expect(!state, 0))
        state = make_state();
    return state;
}

uint64_t thread_context(void)
{
    return state && state->depth ? state->contexts[state->depth - 1] : 0;
}

CUresult thread_context_object(struct object **context)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    uint64_t handle = thread_context();
    if (!handle)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)handle);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult thread_push_context(CUcontext context)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!object_find(HANDLE_CONTEXT, context))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct thread_state *thread = thread_state();
    if (!thread || thread->depth == CONTEXT_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    thread->contexts[thread->depth++] = (uintptr_t)context;
    return CUDA_SUCCESS;
}

CUresult thread_pop_context(CUcontext *context)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    struct thread_state *thread = thread_state();
    if (!thread || !thread->depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    thread->depth--;
    if (context)
        *context = (CUcontext)(uintptr_t)thread->contexts[thread->depth];
    return CUDA_SUCCESS;
}

CUresult thread_set_context(CUcontext context)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    struct thread_state *thread = thread_state();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!context) {
        thread->depth -= thread->depth ? 1 : 0;
        return CUDA_SUCCESS;
    }
    if (!object_find(HANDLE_CONTEXT, context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!thread->depth)
        thread->depth = 1;
    thread->contexts[thread->depth - 1] = (uintptr_t)context;
    return CUDA_SUCCESS;
}

bool thread_start(void *(*routine)(void *argument), void *argument)
{
    pthread_t thread;
    bool started = quiet_thread_start(&thread, routine, argument) == 0;
    if (started)
        pthread_detach(thread);
    return started;
}
