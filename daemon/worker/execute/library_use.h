// SPDX-License-Identifier: BSD-3-Clause
// Counts libraries where the driver loads them (library_use.c).
#ifndef RGPU_WORKER_LIBRARY_USE_H
#define RGPU_WORKER_LIBRARY_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker_driver.h"

void library_uses_prepare(void); // call when the driver is loaded

// Counts the kernel FUNCTION, whose handle is HANDLE, in the context ROOT, which is no green one.
// Returns false if it exceeds the budget. The handles of functions count nothing.
bool library_use(uint64_t handle, void *function, CUcontext root, int device);

#endif
