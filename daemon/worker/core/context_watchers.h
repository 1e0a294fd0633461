// SPDX-License-Identifier: BSD-3-Clause
// Notifies modules before a context ends (context_watchers.c).
#ifndef RGPU_WORKER_CONTEXT_WATCHERS_H
#define RGPU_WORKER_CONTEXT_WATCHERS_H

#include "proto/cuda_abi.h"

// Registers FORGET, which is called with every context that is about to end, while that context is
// current. Callbacks run in the order of their registration. Call before requests are served.
void context_watch(void (*forget)(CUcontext context));
// Calls all registered callbacks.
void contexts_forget(CUcontext context);

#endif
