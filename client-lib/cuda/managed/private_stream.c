// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/private_stream.h"

#include <stdlib.h>

#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

struct private_stream {
    uint64_t context;
    CUstream stream;
    struct private_stream *next;
};

static struct private_stream *streams;

static struct private_stream *private_stream_find(uint64_t context)
{
    struct private_stream *found = streams;
    while (found && found->context != context)
        found = found->next;
    if (!found && (found = calloc(1, sizeof(*found)))) {
        found->context = context;
        found->next = streams;
        streams = found;
    }
    return found;
}

CUresult private_stream_enter(uint64_t context, CUstream *stream)
{
    CUresult result = thread_push_context((CUcontext)(uintptr_t)context);
    if (result != CUDA_SUCCESS)
        return result;
    struct private_stream *mine = private_stream_find(context);
    if (!mine)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    // destroyed with its context
    else if (!mine->stream || !object_find(HANDLE_STREAM, mine->stream))
        result = remote_cuStreamCreate(&mine->stream, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        *stream = mine->stream;
    else
        thread_pop_context(NULL);
    return result;
}

void private_stream_leave(void)
{
    thread_pop_context(NULL);
}
