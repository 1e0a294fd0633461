// SPDX-License-Identifier: BSD-3-Clause
// Contexts of the session (context.c), and who has to know that one goes away.
#ifndef RGPU_WORKER_CONTEXT_H
#define RGPU_WORKER_CONTEXT_H

#include "proto/cuda_abi.h"

// From now on FORGET is called with every context that is about to go, while it is current; those that
// watch are called in the order in which they came. Before requests are served.
void context_watch(void (*forget)(CUcontext context));

#endif
