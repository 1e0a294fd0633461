// SPDX-License-Identifier: BSD-3-Clause
// The layout of the parameters of functions and kernels.
#ifndef RGPU_CLIENT_PARAMETERS_H
#define RGPU_CLIENT_PARAMETERS_H

#include "client-lib/cuda/objects/object.h"

// Returns the layout, which is queried once; NULL with *RESULT.
struct parameter_layout *function_layout(struct object *function, CUresult *result);

// Makes the box load a kernel's code before its first run in a context, because a launch must not
// load it.
void function_prepare(const struct object *function, struct parameter_layout *layout,
                      const struct object *context);

#endif
