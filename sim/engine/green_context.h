// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_GREEN_CONTEXT_H
#define SIM_GREEN_CONTEXT_H

#include "sim/engine/handle.h"

struct context;
// Returns the context that executes the work of a green context, with a new reference; NULL if the
// handle is not of a green context.
struct context *green_context_get(CUcontext handle);

#endif
