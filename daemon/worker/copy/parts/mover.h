// SPDX-License-Identifier: BSD-3-Clause
// A thread that moves bytes between the link and the GPU. It has a lock, a current context, streams
// in each context, and a wait that adapts to the load. The file that declares a mover (push.c,
// pull.c, one_sided.c, peer_jobs.c) decides what it moves, and how.
#ifndef RGPU_WORKER_MOVER_H
#define RGPU_WORKER_MOVER_H

#include <pthread.h>
#include <stdbool.h>

#include "worker_driver.h"

enum { MOVER_CONTEXTS_MAX = 64, MOVER_STREAMS = 2 };

// The streams of one context; each carries the copies of all jobs of one direction. A copy is
// queued there only when it can start at once, so no copy delays another.
struct mover_streams {
    CUcontext context;            // NULL: unused
    CUstream list[MOVER_STREAMS]; // NULL: not made yet
};

struct mover {
    const char *name;       // of the thread, up to 15 characters; NULL: that of the process
    bool (*has_work)(void); // called under the lock
    // Advances all jobs by a step. Called under the lock, which it may release meanwhile. Returns
    // true if any job made progress.
    bool (*advance)(void);
    // Sleeps up to US microseconds and releases the lock meanwhile. NULL: the mover waits for
    // `added` only.
    void (*sleep)(uint32_t us);
    void (*wake)(void); // ends the current or the next `sleep`; called under the lock
    bool learns;        // the thread estimates the next wait from the last ones
    bool eager;         // a kernel waits: the thread polls unless processors are few; its own data
    bool sleeps;        // the thread is in `sleep`; under the lock
    pthread_mutex_t lock;
    pthread_cond_t added;                             // work was added
    pthread_cond_t ended;                             // a job ended
    CUcontext current;                                // of the thread
    struct mover_streams streams[MOVER_CONTEXTS_MAX]; // under the lock
};
#define MOVER(...) \
    { \
        .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .added = PTHREAD_COND_INITIALIZER, \
        .ended = PTHREAD_COND_INITIALIZER, __VA_ARGS__ \
    }

// Starts the thread. Returns 0 or -errno.
int mover_start(struct mover *mover) __attribute__((warn_unused_result));
// Reports that work was added. Called under the lock.
void mover_wake(struct mover *mover);
// Makes CONTEXT current in the mover's thread, which calls this. Returns
// CUDA_ERROR_CONTEXT_IS_DESTROYED if CONTEXT is NULL.
CUresult mover_enter(struct mover *mover, CUcontext context);
// Does the same, and returns the stream number WHICH of CONTEXT.
CUresult mover_stream(struct mover *mover, CUcontext context, unsigned which, CUstream *out);
// Creates all streams of CONTEXT, which is current in the caller. Called under the lock.
CUresult mover_make_streams(struct mover *mover, CUcontext context);
// Returns the stream number WHICH of CONTEXT; NULL: it was not created. Called under the lock.
CUstream mover_made_stream(struct mover *mover, CUcontext context, unsigned which);
// Destroys the streams of CONTEXT, which ends and is current in the caller. Called under the lock.
void mover_forget_context(struct mover *mover, CUcontext context);

// Creates a stream for the worker's own copies, with the highest priority. Streams of one priority
// may share a hardware queue, in which a stream that waits on a semaphore would delay the copy
// before its signal.
CUresult own_stream_create(CUstream *out);

#endif
