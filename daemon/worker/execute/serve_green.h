// SPDX-License-Identifier: BSD-3-Clause
// Green contexts of the session.
#ifndef RGPU_WORKER_SERVE_GREEN_H
#define RGPU_WORKER_SERVE_GREEN_H

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// Returns the context that owns allocations and modules of CONTEXT: for a green context the primary
// one, else CONTEXT.
CUcontext green_root(CUcontext context);

// Ends the green contexts of ROOT, which is about to end.
void green_forget_root(struct serve *serve, CUcontext root);

#endif
