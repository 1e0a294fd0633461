// SPDX-License-Identifier: BSD-3-Clause
// cuGetProcAddress, with a generated table of all symbols and the CUDA versions of their ABIs.
#ifndef RGPU_COMMON_DRIVER_PROC_ADDRESS_H
#define RGPU_COMMON_DRIVER_PROC_ADDRESS_H

#include <stddef.h>

#include "proto/cuda_abi.h"

struct rgpu_proc_entry {
    const char *name; // without suffixes for version and stream, such as cuMemcpyHtoD
    int version;      // CUDA version that introduced this ABI, such as 3020
    int ptsz_kind;    // 1: variant for per-thread default streams
    void *symbol;
};

// Sorted by name (strcmp), then by version. Every library that links this archive defines it in
// build/gen/proc_table.c.
extern const struct rgpu_proc_entry rgpu_proc_table[];
extern const size_t rgpu_proc_count;

// Implements cuGetProcAddress_v2: returns the symbol of NAME with the highest version up to the
// caller's CUDA_VERSION. With CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM only per-thread
// variants count, if NAME has any.
//
// If there is no such symbol, succeeds with *FUNCTION NULL, as NVIDIA's driver does; *STATUS (may
// be NULL) says if the name is unknown or newer. Returns CUDA_ERROR_INVALID_VALUE and writes
// nothing for a NULL argument, an unknown flag, or a version above this driver's.
CUresult proc_address_get(const char *name, void **function, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status);

// Implements cuGetProcAddress of CUDA 11.3: returns CUDA_ERROR_NOT_FOUND if there is no such
// symbol.
CUresult proc_address_get_v1(const char *name, void **function, int cuda_version, cuuint64_t flags);

#endif
