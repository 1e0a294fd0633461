// SPDX-License-Identifier: BSD-3-Clause
// The layout of the parameters of functions and kernels.
#ifndef RGPU_CLIENT_PARAMETERS_H
#define RGPU_CLIENT_PARAMETERS_H

#include "client-lib/cuda/objects/object.h"

// Returns the layout of a function or kernel, which FUNCTION owns. The first call queries the box.
// Returns NULL with the error in *RESULT on failure.
struct parameter_layout *function_layout(struct object *function, CUresult *result);

// Makes the box load the code of FUNCTION before its first launch in CONTEXT, because a launch must
// not load code (code_loading.h).
void function_prepare(const struct object *function, struct parameter_layout *layout,
                      const struct object *context);

#endif
