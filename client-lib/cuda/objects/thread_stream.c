// SPDX-License-Identifier: BSD-3-Clause
// Per-thread default streams: for each context, a thread gets one ordinary stream on first use.
#include "client-lib/cuda/objects/thread_stream.h"

#include <stdlib.h>

#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"

static void end_stream(struct thread_stream *stream)
{
    remote_cuStreamDestroy_v2((CUstream)(uintptr_t)stream->stream);
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
    atomic_store_explicit(&context->session->blocking_streams, true, memory_order_relaxed);
    if (!made || remote_cuStreamCreate(&stream, CU_STREAM_DEFAULT) != CUDA_SUCCESS) {
        free(made);
        return 0;
    }
    *made = (struct thread_stream){context->handle, (uintptr_t)stream, end_stream, mine->streams};
    mine->streams = made;
    return made->stream;
}
