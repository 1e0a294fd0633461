// SPDX-License-Identifier: BSD-3-Clause
// Context-local storage: values that libraries attach to a context under a key.
#ifndef RGPU_COMMON_DRIVER_CONTEXT_STORAGE_H
#define RGPU_COMMON_DRIVER_CONTEXT_STORAGE_H

#include "proto/cuda_abi.h"

typedef void (*context_storage_destructor)(CUcontext context, void *key, void *value);

// Attaches a value. Context NULL stands for the current one in all functions here;
// CUDA_ERROR_INVALID_CONTEXT if there is none. Returns CUDA_ERROR_INVALID_HANDLE if the key has a
// value already.
CUresult context_storage_put(CUcontext context, void *key, void *value,
                             context_storage_destructor destructor);
// Removes a value without calling its destructor. CUDA_ERROR_INVALID_HANDLE: there is no value.
CUresult context_storage_delete(CUcontext context, void *key);
// Returns a value. CUDA_ERROR_INVALID_HANDLE: there is none.
CUresult context_storage_get(void **value, CUcontext context, void *key);

// Removes all values of a context and calls their destructors, newest first, without a lock held.
// Must be called after the context was destroyed, reset, or released for the last time.
void context_storage_drop(CUcontext context);

#endif
