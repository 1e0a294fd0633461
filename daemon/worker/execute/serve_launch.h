// SPDX-License-Identifier: BSD-3-Clause
// Functions for kernel launches and kernel nodes.
#ifndef RGPU_WORKER_SERVE_LAUNCH_H
#define RGPU_WORKER_SERVE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Returns true if BYTES is the size of the parameters, and the budget allows a launch in the
// context of PLACE (0: the caller's). Otherwise notes the error.
bool launch_fits(struct serve *serve, uint64_t handle, void *function, uint32_t bytes,
                 uint64_t place);
// Returns the device of CONTEXT. CURRENT is the thread's current context.
CUresult launch_device(CUcontext context, CUcontext current, CUdevice *device);
// Returns the layout of the parameters: stores at most ROOM entries in OUT, which may be NULL, and
// their total number in *COUNT.
CUresult launch_layout(uint64_t handle, void *function, struct wire_parameter *out, size_t room,
                       uint32_t *count, uint32_t *bytes);

#endif
