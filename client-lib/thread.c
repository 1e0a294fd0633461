// Thread-local state, and its end with the thread.
#include "client-lib/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/call.h"
#include "client-lib/exports.h"
#include "client-lib/process.h"
#include "common/log.h"

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
            remote_cuStreamDestroy_v2((CUstream)(uintptr_t)stream->stream);
        free(stream);
    }
    free(ended);
    state = NULL;
}

// The program may hold every key that a process can have, and give one back later.
static bool key_ready(void)
{
    pthread_mutex_lock(&lock);
    if (!key_made) {
        int err = pthread_key_create(&key, thread_ends);
        key_made = !err;
        if (err)
            log_error("no key for the state of threads error=\"%s\"", strerror(err));
    }
    bool ready = key_made;
    pthread_mutex_unlock(&lock);
    return ready;
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

uint64_t thread_default_stream(const struct object *context)
{
    struct thread_state *mine = thread_state();
    if (!mine)
        return 0;
    for (struct thread_stream *s = mine->streams; s; s = s->next)
        if (s->context == context->handle)
            return s->stream;

    struct thread_stream *made = malloc(sizeof(*made));
    CUstream stream;
    if (!made || remote_cuStreamCreate(&stream, CU_STREAM_DEFAULT) != CUDA_SUCCESS) {
        free(made);
        return 0;
    }
    *made = (struct thread_stream){context->handle, (uintptr_t)stream, mine->streams};
    mine->streams = made;
    return made->stream;
}
