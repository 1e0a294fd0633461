// SPDX-License-Identifier: BSD-3-Clause
// The layout of the parameters of functions and kernels.
#ifndef RGPU_CLIENT_PARAMETERS_H
#define RGPU_CLIENT_PARAMETERS_H

#include "client-lib/objects/object.h"

// Asked for once; NULL with *RESULT.
struct parameter_layout *function_layout(struct object *function, CUresult *result);

// Has the box load a kernel's code where it is to run for the first time: a launch must not be what loads it.
void function_prepare(const struct object *function, struct parameter_layout *layout,
                      const struct object *context);

#endif
