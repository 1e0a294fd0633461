// SPDX-License-Identifier: BSD-3-Clause
// Green contexts (green_context.c).
#ifndef SIM_GREEN_CONTEXT_H
#define SIM_GREEN_CONTEXT_H

#include "sim/handle.h"

struct context;
// The context in which a green one runs, to be put; NULL: the handle is of none.
struct context *green_context_get(CUcontext handle);

#endif
