// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory of the worker that the GPU accesses (pinned.c).
#ifndef RGPU_WORKER_PINNED_H
#define RGPU_WORKER_PINNED_H

#include <stdatomic.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "worker_driver.h"

// A copy between boxes has one from its request on, and streams can hold many of these.
enum { SEMAPHORES = 1 << 16 };

// Region 0 and the semaphores, registered with the driver in the worker's first context. Both are
// made again after a reset of the device.
struct pinned {
    CUcontext owner;                    // the context of the registration
    struct shm_memory *shm;             // NULL after a shm link has taken it
    const struct link_staging *staging; // region 0
    CUdeviceptr staging_device, flags_device;
    _Atomic uint32_t *semaphores;
    CUdeviceptr semaphores_device;
};
extern struct pinned pinned;

// Registers both in the current context, which is the worker's first.
CUresult pinned_register(void);
// Registers both in CONTEXT, a primary one, if no context has them yet. Thread-safe; the current
// context stays.
CUresult pinned_register_in(CUcontext context);
void pinned_unregister(void);
// Replaces region 0, which was made before a client came, by STAGING.
CUresult pinned_replace(const struct link_staging *staging);
// Frees the replaced region.
void pinned_drop_unused(void);

#endif
