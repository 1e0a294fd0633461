// SPDX-License-Identifier: BSD-3-Clause
// Connects to the boxes once, and handles forked children.
#include "client-lib/cuda/session/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/opening.h"
#include "common/base/descriptor.h"
#include "common/base/quiet_thread.h"
#include "common/base/scope.h"
#include "common/base/uncancelled.h"

enum { NOT_INITIALIZED, OPENING, READY, FORKED };
enum { PAGE = 4096 };

static _Atomic int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// True if `state` is READY and the sessions belong to this process. The kernel clears the page in
// every child that gets a copy of the memory (MADV_WIPEONFORK), including one made by clone or
// clone3 without the C library, which runs no fork handlers.
static union {
    _Atomic bool ready;
    char page[PAGE];
} own __attribute__((aligned(PAGE)));

// A forked child cannot use CUDA, as with a local GPU; the parent's sessions continue. A fork
// before cuInit is not affected: the child may initialize by itself.
static void forget_in_child(void)
{
    int before = atomic_load(&state);

    pthread_mutex_init(&lock, NULL);
    if (before == NOT_INITIALIZED)
        return;
    watch_abandon();
    atomic_store(&own.ready, false);
    atomic_store(&state, FORKED);
    if (before == READY)
        sessions_abandon();
}

// Registered before any call, since a child needs it even if it is forked while another thread
// opens the sessions.
__attribute__((constructor)) static void watch_for_forks(void)
{
    pthread_atfork(NULL, NULL, forget_in_child);
    madvise(&own, sizeof(own), MADV_WIPEONFORK);
}

CUresult process_ready(void)
{
    bool ready = atomic_load_explicit(&own.ready, memory_order_acquire);
    return __builtin_expect(ready, 1) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

struct surroundings {
    sigset_t signals;
    struct descriptor_fence fence;
};

// Threads started here block signals, which the program's threads then receive. Descriptors of
// libraries that a transport needs (verbs) do not become the program's standard output.
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
static CUresult process_open_all(const struct session_listener *listener)
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
    if (atomic_load(&state) == READY && !atomic_load(&own.ready))
        forget_in_child(); // forked without the C library
    SCOPED_LOCK(&lock);
    if (atomic_load(&state) != NOT_INITIALIZED)
        return process_ready();
    atomic_store(&state, OPENING);
    CUresult result = process_open_all(listener);
    atomic_store(&own.ready, result == CUDA_SUCCESS);
    atomic_store(&state, result == CUDA_SUCCESS ? READY : NOT_INITIALIZED);
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
