// SPDX-License-Identifier: BSD-3-Clause
// Copy threads, which share the work of one large copy with the thread that requested it.
#ifndef RGPU_CLIENT_COPY_THREADS_H
#define RGPU_CLIENT_COPY_THREADS_H

#include "proto/cuda_abi.h"

// Runs WORK(ARGUMENT) in the calling thread, and at the same time in as many copy threads as this
// machine has processors to spare, with CONTEXT current there. Returns when all have returned. WORK
// must divide the copy among its callers. If the copy threads are busy with another copy, only the
// calling thread runs WORK.
void copy_threads_run(void (*work)(void *argument), void *argument, CUcontext context);

#endif
