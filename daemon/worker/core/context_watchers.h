// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_WORKER_CONTEXT_WATCHERS_H
#define RGPU_WORKER_CONTEXT_WATCHERS_H

#include "proto/cuda_abi.h"

// Registers FORGET, which is called before a context ends, with that context current. Callbacks run
// in the order of registration. Must be called before requests are served.
void context_watch(void (*forget)(CUcontext context));
// Calls all registered functions.
void contexts_forget(CUcontext context);

#endif
