// SPDX-License-Identifier: BSD-3-Clause
// The private tables that the CUDA runtime and the math libraries fetch with cuGetExportTable.
//
// Every slot is implemented with public calls of the Driver API, which the library that links this
// archive must define (link it with -Bsymbolic, so that they are its own). Any thread may call.
#ifndef RGPU_COMMON_DRIVER_EXPORT_TABLES_H
#define RGPU_COMMON_DRIVER_EXPORT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

// Implements cuGetExportTable: CUDA_ERROR_INVALID_VALUE for a missing argument and for an unknown
// table, whose UUID is logged once; *TABLE is NULL then.
CUresult export_table_get(const void **table, const CUuuid *id);

// Gives the primary context of a device without making it current. NVIDIA's driver gives the handle
// that a later cuDevicePrimaryCtxRetain gives, and leaves the context inactive. The archive has a
// weak definition, which retains the context once per device and keeps it until the process ends;
// a library that can do as the driver does defines its own.
CUresult export_table_primary_context(CUcontext *context, CUdevice device);

// Returns the group of multiprocessors of each pair of them, and the pair's place in that group: a
// byte of each for every pair of the current context's GPU. *COUNT is their number, at most ROOM.
// The weak definition refuses.
CUresult export_table_processor_groups(uint8_t *groups, uint8_t *places, size_t room,
                                       size_t *count);

#endif
