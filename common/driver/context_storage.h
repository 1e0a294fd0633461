// SPDX-License-Identifier: BSD-3-Clause
// Values that libraries attach to a context under a key (the context-local storage table).
#ifndef RGPU_COMMON_DRIVER_CONTEXT_STORAGE_H
#define RGPU_COMMON_DRIVER_CONTEXT_STORAGE_H

#include "proto/cuda_abi.h"

typedef void (*context_storage_destructor)(CUcontext context, void *key, void *value);

// A context of NULL is the current one everywhere. Without any: CUDA_ERROR_INVALID_CONTEXT.
// A key that has a value keeps it: CUDA_ERROR_INVALID_HANDLE.
CUresult context_storage_put(CUcontext context, void *key, void *value,
                             context_storage_destructor destructor);
// Removes without calling the destructor. CUDA_ERROR_INVALID_HANDLE where there is no value.
CUresult context_storage_delete(CUcontext context, void *key);
// CUDA_ERROR_INVALID_HANDLE where there is no value.
CUresult context_storage_get(void **value, CUcontext context, void *key);

// To be called after a context has ended: it was destroyed, or the primary context was reset or
// released for the last time. Runs the destructors of its values, newest first and without a lock,
// and removes the values.
void context_storage_drop(CUcontext context);

#endif
