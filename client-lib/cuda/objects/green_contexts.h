// SPDX-License-Identifier: BSD-3-Clause
// Green contexts, which use some of a GPU's multiprocessors (SMs), and the resources that describe
// these. Any thread may call.
#ifndef RGPU_CLIENT_GREEN_CONTEXTS_H
#define RGPU_CLIENT_GREEN_CONTEXTS_H

#include "client-lib/cuda/objects/object.h"

// Return the resource of a device, or of a context, in *RESOURCE, which the program owns.
CUresult resource_of_device(CUdevice device, CUdevResourceType type, CUdevResource *resource);
CUresult resource_of_context(const struct object *context, CUdevResourceType type,
                             CUdevResource *resource);
// Splits INPUT into *GROUPS groups of at least MINIMUM SMs, as cuDevSmResourceSplitByCount does.
CUresult resource_split(CUdevResource *result, unsigned int *groups, const CUdevResource *input,
                        CUdevResource *remaining, unsigned int flags, unsigned int minimum);
// Creates a description of COUNT resources of one device. It exists until the process ends, as the
// driver's descriptions do.
CUresult resource_describe(const CUdevResource *resources, unsigned int count,
                           CUdevResourceDesc *description);

// Create a green context, which keeps a reference to the primary context of DEVICE; destroy one.
CUresult green_create(CUdevResourceDesc description, CUdevice device, unsigned int flags,
                      CUgreenCtx *green);
CUresult green_destroy(CUgreenCtx green);
// Finds the context of a green context. Returns CUDA_ERROR_INVALID_CONTEXT for NULL, and WRONG for
// a handle that is no green context.
CUresult green_find(CUgreenCtx green, CUresult wrong, struct object **context);

#endif
