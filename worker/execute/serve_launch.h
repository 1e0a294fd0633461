// SPDX-License-Identifier: BSD-3-Clause
// What launches of kernels and their nodes in graphs have in common (serve_launch.c).
#ifndef RGPU_WORKER_SERVE_LAUNCH_H
#define RGPU_WORKER_SERVE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "worker/serve.h"
#include "worker_driver.h"

// Whether BYTES are as many as the function or kernel has of parameters, and the budget has what a launch of it
// takes in the context that PLACE is or lives in (0: the caller's); else noted.
bool launch_fits(struct serve *serve, uint64_t handle, void *function, uint32_t bytes,
                 uint64_t place);
// The device of CONTEXT, where CURRENT is the thread's.
CUresult launch_device(CUcontext context, CUcontext current, CUdevice *device);
// The places of parameters: fills at most ROOM of OUT (may be NULL); counts all.
CUresult launch_layout(uint64_t handle, void *function, struct wire_parameter *out, size_t room,
                       uint32_t *count, uint32_t *bytes);

#endif
