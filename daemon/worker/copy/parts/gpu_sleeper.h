// SPDX-License-Identifier: BSD-3-Clause
// A thread that sleeps in the driver until the GPU has come to an event, and then wakes a mover,
// which otherwise could only ask from time to time. For waits of milliseconds: to wake two threads
// one after the other is late for shorter ones.
#ifndef RGPU_WORKER_GPU_SLEEPER_H
#define RGPU_WORKER_GPU_SLEEPER_H

#include <pthread.h>
#include <stdbool.h>

#include "daemon/worker/copy/parts/mover.h"
#include "worker_driver.h"

// All under the lock of the mover.
struct gpu_sleeper {
    struct mover *mover;
    enum { SLEEPER_IDLE, SLEEPER_ASKED, SLEEPER_AWAITS } state;
    CUevent event; // of the mover, compared only
    CUcontext context;
    CUstream stream; // in CONTEXT: it waits for the event,
    CUevent come;    // recorded after it there
    bool has_thread; // it has been started
    bool fails;      // the driver refused: the mover asks for itself
    pthread_cond_t asked, idle;
};
#define GPU_SLEEPER(...) \
    { \
        .asked = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, __VA_ARGS__ \
    }

// The mover's thread, with CONTEXT current: wakes the mover when the GPU has come to EVENT of that
// context, which may be destroyed meanwhile. False: it cannot, or waits for another event.
bool gpu_sleeper_await(struct gpu_sleeper *sleeper, CUcontext context, CUevent event);
// With CONTEXT, which ends, current in the caller.
void gpu_sleeper_forget(struct gpu_sleeper *sleeper, CUcontext context);

#endif
