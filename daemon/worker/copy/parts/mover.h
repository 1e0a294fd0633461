// SPDX-License-Identifier: BSD-3-Clause
// A mover: a thread that moves bytes between the link and the GPU, with a lock, a current context,
// streams in each context, and adaptive waiting. The file that declares a mover (push.c, pull.c,
// one_sided.c, peer_jobs.c) implements the movement.
#ifndef RGPU_WORKER_MOVER_H
#define RGPU_WORKER_MOVER_H

#include <pthread.h>
#include <stdbool.h>

#include "worker_driver.h"

enum { MOVER_CONTEXTS_MAX = 64, MOVER_STREAMS = 2 };

// Streams of one context, one for each direction. A GPU copy is queued only when it can start at
// once, so copies of different jobs do not delay each other.
struct mover_streams {
    CUcontext context;            // NULL: unused entry
    CUstream list[MOVER_STREAMS]; // NULL: not created yet
};

struct mover {
    const char *name;       // name of the thread, at most 15 characters; NULL: that of the process
    bool (*has_work)(void); // called with the lock held
    // Advances all jobs. Called with the lock held, which it may release meanwhile. Returns true if
    // a job has made progress.
    bool (*advance)(void);
    // Releases the lock and sleeps for at most US microseconds. NULL: the mover only waits for
    // `added`.
    void (*sleep)(uint32_t us);
    void (*wake)(void); // ends the current or next `sleep`; called with the lock held
    bool learns;        // the thread predicts the next wait from previous ones
    bool eager;         // a kernel waits: the thread polls unless there are few processors
    bool sleeps;        // the thread is in `sleep`; guarded by the lock
    pthread_mutex_t lock;
    pthread_cond_t added;                             // signalled when work was added
    pthread_cond_t ended;                             // signalled when a job has ended
    CUcontext current;                                // current context of the thread
    struct mover_streams streams[MOVER_CONTEXTS_MAX]; // guarded by the lock
};
#define MOVER(...) \
    { \
        .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .added = PTHREAD_COND_INITIALIZER, \
        .ended = PTHREAD_COND_INITIALIZER, __VA_ARGS__ \
    }

// Starts the thread. Returns 0 or -errno.
int mover_start(struct mover *mover) __attribute__((warn_unused_result));
// Wakes the thread after work was added. The caller holds the lock.
void mover_wake(struct mover *mover);
// Makes CONTEXT current. Called by the mover's thread. Returns CUDA_ERROR_CONTEXT_IS_DESTROYED if
// CONTEXT is NULL.
CUresult mover_enter(struct mover *mover, CUcontext context);
// As mover_enter(), and returns stream number WHICH of CONTEXT.
CUresult mover_stream(struct mover *mover, CUcontext context, unsigned which, CUstream *out);
// Creates all streams of CONTEXT, the caller's current context. The caller holds the lock.
CUresult mover_make_streams(struct mover *mover, CUcontext context);
// Returns stream number WHICH of CONTEXT; NULL if it was not created. The caller holds the lock.
CUstream mover_made_stream(struct mover *mover, CUcontext context, unsigned which);
// Destroys the streams of CONTEXT, which ends and is current. The caller holds the lock.
void mover_forget_context(struct mover *mover, CUcontext context);

// Creates a stream for the worker's own copies, with the highest priority. Streams of equal
// priority may share a hardware queue, where a stream that waits on a semaphore would delay the
// copy before its signal.
CUresult own_stream_create(CUstream *out);

#endif
