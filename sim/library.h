// SPDX-License-Identifier: BSD-3-Clause
// Libraries: device code that belongs to no context and is loaded into each one at first use.
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include "sim/context.h"

// The function of a kernel in the current context, which the library is loaded into if need be.
CUresult library_kernel_function(CUkernel handle, CUfunction *out);

#endif
