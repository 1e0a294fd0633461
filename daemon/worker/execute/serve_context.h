// SPDX-License-Identifier: BSD-3-Clause
// Contexts of the session (serve_context.c).
#ifndef RGPU_WORKER_SERVE_CONTEXT_H
#define RGPU_WORKER_SERVE_CONTEXT_H

#include "worker_driver.h"

// Ends the primary context of a GPU with all that it holds, and makes a fresh one.
CUresult gpu_reset(int ordinal);

#endif
