// SPDX-License-Identifier: BSD-3-Clause
// Libraries: device code that is loaded into each context when the context first uses it.
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include "sim/engine/context.h"

// Returns a kernel's function in the current context. Loads the library into the context if
// necessary.
CUresult library_kernel_function(CUkernel handle, CUfunction *out);

#endif
