// SPDX-License-Identifier: BSD-3-Clause
#ifndef SIM_PRIMARY_CONTEXT_H
#define SIM_PRIMARY_CONTEXT_H

#include "sim/engine/context.h"

// Returns the handle of the primary context and starts the context if necessary; adds no reference.
CUresult primary_context_handle(struct device *device, CUcontext *out);

// Add and drop a reference. The last drop destroys everything in the context.
CUresult primary_context_retain(CUdevice index, CUcontext *out);
CUresult primary_context_release(CUdevice index);

#endif
