// SPDX-License-Identifier: BSD-3-Clause
// A thread that blocks in the driver until the GPU reaches an event, and then wakes a mover, which
// would otherwise poll. For waits of milliseconds only, because waking two threads in turn takes
// time.
#ifndef RGPU_WORKER_GPU_SLEEPER_H
#define RGPU_WORKER_GPU_SLEEPER_H

#include <pthread.h>
#include <stdbool.h>

#include "daemon/worker/copy/parts/mover.h"
#include "worker_driver.h"

// Guarded by the mover's lock.
struct gpu_sleeper {
    struct mover *mover;
    enum { SLEEPER_IDLE, SLEEPER_ASKED, SLEEPER_AWAITS } state;
    CUevent event; // event of the mover; only compared, never used
    CUcontext context;
    CUstream stream; // stream of CONTEXT that waits for the event
    CUevent come;    // recorded in `stream` after that wait
    bool has_thread; // the thread has been started
    bool fails;      // the driver has failed: the mover polls
    pthread_cond_t asked, idle;
};
#define GPU_SLEEPER(...) \
    { \
        .asked = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, __VA_ARGS__ \
    }

// Called by the mover's thread, with CONTEXT current: wakes the mover when the GPU has reached
// EVENT, which may be destroyed meanwhile. Returns false if that fails, or if the thread waits for
// another event.
bool gpu_sleeper_await(struct gpu_sleeper *sleeper, CUcontext context, CUevent event);
// CONTEXT ends, and is current.
void gpu_sleeper_forget(struct gpu_sleeper *sleeper, CUcontext context);

#endif
