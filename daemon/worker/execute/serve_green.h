// SPDX-License-Identifier: BSD-3-Clause
// Green contexts of the session (serve_green.c).
#ifndef RGPU_WORKER_SERVE_GREEN_H
#define RGPU_WORKER_SERVE_GREEN_H

#include "daemon/worker/request/serve.h"
#include "worker_driver.h"

// The context that owns what is allocated and loaded in CONTEXT: of a green one the primary, else
// itself.
CUcontext green_root(CUcontext context);

// ROOT is about to go, and its green contexts go with it.
void green_forget_root(struct serve *serve, CUcontext root);

#endif
