// SPDX-License-Identifier: BSD-3-Clause
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

// cuGetProcAddress_v2: the entry of NAME with the highest version that is not above that of the
// caller. With CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM (and not the legacy flag) only the
// per-thread forms of NAME count, where it has any.
//
// Like NVIDIA's driver, this succeeds with *FUNCTION = NULL if there is no such entry. *STATUS
// (STATUS may be NULL) says why: the name is unknown (as every name with a suffix is), or its first
// version is later. CUDA_ERROR_INVALID_VALUE, nothing written: a missing argument, an unknown flag,
// a caller newer than this driver (CUDA_VERSION).
CUresult proc_address_get(const char *name, void **function, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status);

// cuGetProcAddress of CUDA 11.3: where there is no such entry, CUDA_ERROR_NOT_FOUND and nothing is
// written.
CUresult proc_address_get_v1(const char *name, void **function, int cuda_version, cuuint64_t flags);

#endif
