// SPDX-License-Identifier: BSD-3-Clause
// Functions shared by launches of kernels and their nodes in graphs (serve_launch.c).
#ifndef RGPU_WORKER_SERVE_LAUNCH_H
#define RGPU_WORKER_SERVE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Returns true if BYTES match the parameters of the function or kernel, and the budget has room for
// a launch of it in the context of PLACE (0: the caller's); else notes the failure.
bool launch_fits(struct serve *serve, uint64_t handle, void *function, uint32_t bytes,
                 uint64_t place);
// The device of CONTEXT, where CURRENT is the thread's.
CUresult launch_device(CUcontext context, CUcontext current, CUdevice *device);
// The places of parameters: fills at most ROOM of OUT (may be NULL); counts all.
CUresult launch_layout(uint64_t handle, void *function, struct wire_parameter *out, size_t room,
                       uint32_t *count, uint32_t *bytes);

#endif
