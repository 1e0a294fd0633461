// SPDX-License-Identifier: BSD-3-Clause
// Declares the functions of primary contexts that other files use.
#ifndef SIM_PRIMARY_CONTEXT_H
#define SIM_PRIMARY_CONTEXT_H

#include "sim/engine/context.h"

// Returns the primary context's handle and starts the context if needed. The count of references
// stays the same.
CUresult primary_context_handle(struct device *device, CUcontext *out);

// Add and drop a reference; the last drop destroys what the context holds.
CUresult primary_context_retain(CUdevice index, CUcontext *out);
CUresult primary_context_release(CUdevice index);

#endif
