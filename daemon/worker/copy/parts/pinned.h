// SPDX-License-Identifier: BSD-3-Clause
// Memory that the GPU and we share (pinned.c).
#ifndef RGPU_WORKER_PINNED_H
#define RGPU_WORKER_PINNED_H

#include <stdatomic.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "worker_driver.h"

// A copy between boxes has one from when it is asked for, and there may be as many as streams have
// room for.
enum { SEMAPHORES = 1 << 16 };

// Region 0 and the semaphores, registered in the worker's first context; re-made after a reset.
struct pinned {
    CUcontext owner;                    // in which it is registered
    struct shm_memory *shm;             // until a shm link owns it
    const struct link_staging *staging; // region 0
    CUdeviceptr staging_device, flags_device;
    _Atomic uint32_t *semaphores;
    CUdeviceptr semaphores_device;
};
extern struct pinned pinned;

CUresult pinned_register(void); // the current context is the worker's first
// The same in CONTEXT, a primary one, if that is the first. Any thread, whatever its current
// context.
CUresult pinned_register_in(CUcontext context);
void pinned_unregister(void);
// Has STAGING in place of the memory that was made before a client came.
CUresult pinned_replace(const struct link_staging *staging);
// Frees memory that has been replaced.
void pinned_drop_unused(void);

#endif
