// SPDX-License-Identifier: BSD-3-Clause
// Implements libraries: device code that belongs to no context and is loaded into each context at
// first use.
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include "sim/engine/context.h"

// Returns a kernel's function in the current context, loading the library into it if needed.
CUresult library_kernel_function(CUkernel handle, CUfunction *out);

#endif
