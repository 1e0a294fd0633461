// cuGetProcAddress over a generated table of every symbol and the CUDA version of its ABI.
#ifndef RGPU_COMMON_DRIVER_PROC_ADDRESS_H
#define RGPU_COMMON_DRIVER_PROC_ADDRESS_H

#include <stddef.h>

#include "proto/cuda_abi.h"

struct rgpu_proc_entry {
    const char *name; // without version and stream suffixes: cuMemcpyHtoD
    int version;      // of CUDA, from which on this ABI exists: 3020
    int ptsz_kind;    // 1: the form for per-thread default streams
    void *symbol;
};

// Sorted by name (strcmp), then by version. Defined by build/gen/proc_table.c in every library that
// links this archive.
extern const struct rgpu_proc_entry rgpu_proc_table[];
extern const size_t rgpu_proc_count;

// The entry of NAME with the highest version that is not above CUDA_VERSION. With the flag
// CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM the per-thread form is preferred where there
// is one. A name with its suffix (cuMemAlloc_v2, cuLaunchKernel_ptsz) means exactly that symbol.
//
// Found: CUDA_SUCCESS. Otherwise *FUNCTION is NULL, the result CUDA_ERROR_NOT_FOUND, and *STATUS
// (which may be NULL) says whether a later version is the reason. A missing argument or an unknown
// flag is CUDA_ERROR_INVALID_VALUE.
CUresult proc_address_get(const char *name, void **function, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status);

#endif
