// SPDX-License-Identifier: BSD-3-Clause
// Page-locked memory of the worker that the GPU accesses.
#ifndef RGPU_WORKER_PINNED_H
#define RGPU_WORKER_PINNED_H

#include <stdatomic.h>
#include <stdint.h>

#include "transport/link/link.h"
#include "worker_driver.h"

// Maximum number of semaphores. A copy between boxes uses one from its request on, and streams may
// queue many.
enum { SEMAPHORES = 1 << 16 };

// Region 0 and the semaphores, registered with the driver in the worker's first context, and again
// after a reset of the device.
struct pinned {
    CUcontext owner;                    // context of the registration
    struct shm_memory *shm;             // NULL after a shm link has taken it
    const struct link_staging *staging; // region 0
    CUdeviceptr staging_device, flags_device;
    _Atomic uint32_t *semaphores;
    CUdeviceptr semaphores_device;
};
extern struct pinned pinned;

// Registers both in the current context, the worker's first one.
CUresult pinned_register(void);
// Registers both in CONTEXT, a primary context, unless they are registered. Thread-safe; does not
// change the current context.
CUresult pinned_register_in(CUcontext context);
void pinned_unregister(void);
// Replaces region 0, which was allocated before a client connected, by STAGING.
CUresult pinned_replace(const struct link_staging *staging);
// Frees the replaced region.
void pinned_drop_unused(void);

#endif
