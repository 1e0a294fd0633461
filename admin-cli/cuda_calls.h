// SPDX-License-Identifier: BSD-3-Clause
// The driver's calls that rgpuctl makes as a program would, from the client library.
#ifndef RGPU_ADMIN_CLI_CUDA_CALLS_H
#define RGPU_ADMIN_CLI_CUDA_CALLS_H

#include "proto/cuda_abi.h"

struct cuda_calls {
    CUresult (*init)(unsigned);
    CUresult (*count)(int *);
    CUresult (*name)(char *, int, CUdevice);
    CUresult (*explain)(CUresult, const char **);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*set_current)(CUcontext);
    CUresult (*memory)(size_t *, size_t *);
    CUresult (*alloc)(CUdeviceptr *, size_t);
    CUresult (*release)(CUdeviceptr);
    CUresult (*load)(CUmodule *, const void *);
    CUresult (*find)(CUfunction *, CUmodule, const char *);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    CUresult (*to)(CUdeviceptr, const void *, size_t);
    CUresult (*from)(void *, CUdeviceptr, size_t);
    CUresult (*peer)(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
};

// Loads the library at PATH into this process, for good. Returns 0, or -1 if it cannot be loaded or
// lacks a call.
int cuda_calls_load(const char *path, struct cuda_calls *out);

#endif
