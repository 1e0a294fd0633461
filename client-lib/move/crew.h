// SPDX-License-Identifier: BSD-3-Clause
// Helper threads that share the work of one large copy with the thread that asked for it.
#ifndef RGPU_CLIENT_CREW_H
#define RGPU_CLIENT_CREW_H

#include "proto/cuda_abi.h"

// Runs WORK(ARGUMENT) in the calling thread and in as many helpers as this machine has processors to
// spare, with CONTEXT current there; returns when all are done. WORK divides the work itself. When
// the helpers are busy with another copy, the caller works alone.
void crew_run(void (*work)(void *argument), void *argument, CUcontext context);

#endif
