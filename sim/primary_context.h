// SPDX-License-Identifier: BSD-3-Clause
// What other files need of a device's primary context.
#ifndef SIM_PRIMARY_CONTEXT_H
#define SIM_PRIMARY_CONTEXT_H

#include "sim/context.h"

// The primary context's handle, which comes to life if it has to; the count stays as it is.
CUresult primary_context_handle(struct device *device, CUcontext *out);

// A reference more, and one less: the last ends what the context holds.
CUresult primary_context_retain(CUdevice index, CUcontext *out);
CUresult primary_context_release(CUdevice index);

#endif
