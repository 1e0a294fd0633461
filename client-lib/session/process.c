// SPDX-License-Identifier: BSD-3-Clause
// Connecting to the boxes, once; and what becomes of it in a forked child.
#include "client-lib/session/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "client-lib/report/watch.h"
#include "client-lib/session/opening.h"
#include "common/descriptor.h"
#include "common/quiet_thread.h"
#include "common/scope.h"
#include "common/uncancelled.h"

enum { NOT_INITIALIZED, OPENING, READY, FORKED };

static _Atomic int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// In the child of a fork CUDA cannot be used, as with a local GPU; the parent's sessions go on. A fork of a process that
// has not begun has a beginning of its own.
static void forget_in_child(void)
{
    int before = atomic_load(&state);

    pthread_mutex_init(&lock, NULL);
    if (before == NOT_INITIALIZED)
        return;
    watch_abandon();
    atomic_store(&state, FORKED);
    if (before == READY)
        sessions_abandon();
}

// Before any call: a child that is forked while another thread opens the sessions needs it, too.
__attribute__((constructor)) static void watch_for_forks(void)
{
    pthread_atfork(NULL, NULL, forget_in_child);
}

CUresult process_ready(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    return __builtin_expect(now == READY, 1) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct surroundings {
    sigset_t signals;
    struct descriptor_fence fence;
};

// Threads that are started in between leave signals to those of the program, and descriptors of libraries that a
// transport needs (verbs) do not become its standard output.
static void keep_out(struct surroundings *old)
{
    quiet_signals(&old->signals);
    descriptor_fence_begin(&old->fence);
}

static void let_in(struct surroundings *old)
{
    descriptor_fence_end(&old->fence);
    pthread_sigmask(SIG_SETMASK, &old->signals, NULL);
}

// The caller holds the lock.
static CUresult open_all(const struct session_listener *listener)
{
    struct surroundings old;

    session_listener = listener;
    keep_out(&old);
    CUresult result = sessions_open();
    let_in(&old);
    return result;
}

CUresult process_start(const struct session_listener *listener)
{
    SCOPED_LOCK(&lock);
    int now = atomic_load(&state);
    if (now != NOT_INITIALIZED)
        return now == READY ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
    atomic_store(&state, OPENING);
    CUresult result = open_all(listener);
    atomic_store_explicit(&state, result == CUDA_SUCCESS ? READY : NOT_INITIALIZED,
                          memory_order_release);
    return result;
}

CUresult process_reach(const CUuuid *uuid, CUdevice *device)
{
    SCOPED_UNCANCELLED;
    struct surroundings old;
    SCOPED_LOCK(&lock);
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    keep_out(&old);
    result = sessions_reach(uuid, device);
    let_in(&old);
    return result;
}
