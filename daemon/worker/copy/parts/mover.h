// SPDX-License-Identifier: BSD-3-Clause
// A thread that moves bytes between the link and the GPU, with the parts that every such thread
// needs: a lock, a current context of its own, streams in each context, and a wait that is shorter
// under load. Its owner (push.c, pull.c, one_sided.c) decides what it moves, and how.
#ifndef RGPU_WORKER_MOVER_H
#define RGPU_WORKER_MOVER_H

#include <pthread.h>
#include <stdbool.h>

#include "worker_driver.h"

enum { MOVER_CONTEXTS_MAX = 64, MOVER_STREAMS = 2 };

// Streams in a context that carry the copies of all jobs of one direction. Copies are queued there
// only when nothing is left to wait for, so none can hold up another.
struct mover_streams {
    CUcontext context;            // NULL: unused
    CUstream list[MOVER_STREAMS]; // NULL: not made yet
};

struct mover {
    const char *name;       // of its thread, up to 15 characters; NULL: the program's
    bool (*has_work)(void); // under the lock
    // Takes all jobs a step further. Called under the lock, which it may release meanwhile. Returns
    // true if there was progress.
    bool (*advance)(void);
    // Sleeps up to US microseconds, releasing the lock meanwhile, if another event than `added` can
    // end the mover's waits. NULL: no other event can.
    void (*sleep)(uint32_t us);
    void (*wake)(void); // ends that sleep, or the next one; under the lock
    bool learns;        // how long its waits take is a guess at the next
    // it does not sleep where processors are not few, as a kernel waits; the thread's own
    bool eager;
    bool sleeps; // in its own way; under the lock
    pthread_mutex_t lock;
    pthread_cond_t added;                             // there is more to do
    pthread_cond_t ended;                             // something is over
    CUcontext current;                                // of its thread
    struct mover_streams streams[MOVER_CONTEXTS_MAX]; // under the lock
};
#define MOVER(...) \
    { \
        .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .added = PTHREAD_COND_INITIALIZER, \
        .ended = PTHREAD_COND_INITIALIZER, __VA_ARGS__ \
    }

// Starts the thread; -errno.
int mover_start(struct mover *mover) __attribute__((warn_unused_result));
// Under the lock: there is more to do.
void mover_wake(struct mover *mover);
// The mover's own thread: makes CONTEXT current there; NULL: CUDA_ERROR_CONTEXT_IS_DESTROYED.
CUresult mover_enter(struct mover *mover, CUcontext context);
// The same, and its stream number WHICH there.
CUresult mover_stream(struct mover *mover, CUcontext context, unsigned which, CUstream *out);
// Under the lock, with CONTEXT current in the caller: its streams are made now.
CUresult mover_make_streams(struct mover *mover, CUcontext context);
// Under the lock: one of those that have been made; NULL: there is none.
CUstream mover_made_stream(struct mover *mover, CUcontext context, unsigned which);
// Under the lock, with CONTEXT current in the caller: its streams go before it does.
void mover_forget_context(struct mover *mover, CUcontext context);

// A stream of the worker's own. It has the highest priority, since streams of one priority may
// share a queue of the hardware, in which one that waits on a semaphore would hold up the copy that
// opens it.
CUresult own_stream_create(CUstream *out);

#endif
