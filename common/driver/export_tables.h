// SPDX-License-Identifier: BSD-3-Clause
// Private function tables that the CUDA runtime and math libraries get from cuGetExportTable.
//
// The functions in the tables use only public Driver API functions, which the library that links
// this archive must define (link with -Bsymbolic). Thread-safe.
#ifndef RGPU_COMMON_DRIVER_EXPORT_TABLES_H
#define RGPU_COMMON_DRIVER_EXPORT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// Implements cuGetExportTable. For an unknown table, logs its UUID once, sets *TABLE to NULL and
// returns CUDA_ERROR_INVALID_VALUE, as for a NULL argument.
CUresult export_table_get(const void **table, const CUuuid *id);

// Returns a device's primary context without making it current. NVIDIA's driver returns the handle
// that a later cuDevicePrimaryCtxRetain returns, and leaves the context inactive. The weak default
// retains the context once per device, until the process ends; a library that can do what the
// driver does overrides it.
CUresult export_table_primary_context(CUcontext *context, CUdevice device);

// Returns, for each multiprocessor pair of the current context's GPU, its group and its index in
// the group, one byte each. *COUNT is the number of pairs, at most ROOM. The weak default returns
// CUDA_ERROR_NOT_SUPPORTED.
CUresult export_table_processor_groups(uint8_t *groups, uint8_t *places, size_t room,
                                       size_t *count);

#endif
