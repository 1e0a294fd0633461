// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/managed/quiet.h"

#include <pthread.h>
#include <stdatomic.h>

#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { BUSY_MAX = 64 };

// Contexts that had work since the last wait for them.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t busy[BUSY_MAX];
static unsigned int busy_count;
static _Atomic uint64_t
    last_busy; // context with the latest work: already in `busy`, so no search is needed

void quiet_no_more(struct box_session *session, uint64_t context)
{
    if (!context || atomic_load_explicit(&last_busy, memory_order_relaxed) == context)
        return;
    SCOPED_LOCK(&lock);
    unsigned int i = 0;
    while (i < busy_count && busy[i] != context)
        i++;
    if (i == busy_count && busy_count < BUSY_MAX)
        busy[busy_count++] = context;
    atomic_store(&last_busy, context);
}

static uint64_t quiet_take_busy(void)
{
    SCOPED_LOCK(&lock);
    atomic_store(&last_busy, 0);
    return busy_count ? busy[--busy_count] : 0;
}

static CUresult await_stream(CUstream stream)
{
    return object_find(HANDLE_STREAM, stream) ? remote_cuStreamSynchronize(stream)
                                              : CUDA_ERROR_INVALID_HANDLE;
}

// Ignores errors: the context keeps them, and the next call that queries it reports them.
void quiet_await_context(uint64_t context)
{
    (void)context_within((CUcontext)(uintptr_t)context, remote_cuCtxSynchronize);
}

void quiet_await(struct box_session *session, uint64_t context, uint64_t stream)
{
    // A captured stream cannot be waited for, and the program has waited for all other work.
    if (atomic_load(&host_functions_running) ||
        atomic_load_explicit(&session->captures, memory_order_relaxed))
        return;
    if (stream && await_stream((CUstream)(uintptr_t)stream) == CUDA_SUCCESS)
        return;
    for (uint64_t next; (next = quiet_take_busy()) != 0;)
        quiet_await_context(next);
}
