// SPDX-License-Identifier: BSD-3-Clause
// Declares the lookup of green contexts (green_context.c).
#ifndef SIM_GREEN_CONTEXT_H
#define SIM_GREEN_CONTEXT_H

#include "sim/engine/handle.h"

struct context;
// Returns the context in which a green context runs, or NULL if the handle is not of a green
// context. The caller puts it.
struct context *green_context_get(CUcontext handle);

#endif
