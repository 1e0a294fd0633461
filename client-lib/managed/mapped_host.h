// SPDX-License-Identifier: BSD-3-Clause
// Host memory that kernels of a GPU use although its box cannot share it: the box has a mirror of it. Any thread may call.
#ifndef RGPU_CLIENT_MAPPED_HOST_H
#define RGPU_CLIENT_MAPPED_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "client-lib/objects/object.h"

// Page-locked memory of a session that mirrors it.
CUresult mapped_host_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory);
// The box gets a mirror of registered memory, which holds MEMORY, unless it has one. CUDA_ERROR_NOT_SUPPORTED: it is of
// no session that has mirrors.
CUresult mapped_host_open(const void *memory);
// Ends page-locked (REGISTERED: registered) memory of which the box has a mirror. False: it is none.
bool mapped_host_release(void *memory, bool registered, CUresult *result);

#endif
