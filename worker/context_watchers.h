// SPDX-License-Identifier: BSD-3-Clause
// Who has to know that a context goes away (context_watchers.c).
#ifndef RGPU_WORKER_CONTEXT_WATCHERS_H
#define RGPU_WORKER_CONTEXT_WATCHERS_H

#include "proto/cuda_abi.h"

// From now on FORGET is called with every context that is about to go, while it is current; those that
// watch are called in the order in which they came. Before requests are served.
void context_watch(void (*forget)(CUcontext context));
// Calls them all.
void contexts_forget(CUcontext context);

#endif
