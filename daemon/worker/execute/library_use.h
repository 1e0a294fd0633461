// SPDX-License-Identifier: BSD-3-Clause
// Counts libraries where the driver loads them (library_cost.h).
#ifndef RGPU_WORKER_LIBRARY_USE_H
#define RGPU_WORKER_LIBRARY_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

void library_uses_prepare(void); // must be called when the driver is loaded

// Counts the kernel FUNCTION with handle HANDLE in ROOT, which must not be a green context. Returns
// false if it exceeds the budget. Does nothing for functions of modules.
bool library_use(uint64_t handle, void *function, CUcontext root, int device);

#endif
