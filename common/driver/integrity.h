// SPDX-License-Identifier: BSD-3-Clause
// The check by which the CUDA runtime verifies that the driver is genuine.
#ifndef RGPU_COMMON_DRIVER_INTEGRITY_H
#define RGPU_COMMON_DRIVER_INTEGRITY_H

#include <stdint.h>

#include "proto/cuda_abi.h"

// The digest covers these pointers: they must be the ones that the caller got.
struct integrity_tables {
    const void *runtime_table;
    const void *integrity_table;
    const void *function;
};

// Takes the driver version that cuDriverGetVersion returns. The runtime asks for it before cuInit,
// when the driver of the box may not be known yet, and has that answer in its own digest.
void integrity_set_driver_version(int version);

// Computes the digest. The caller passes VERSION and UNIX_SECONDS. RESULT receives two
// little-endian halves.
CUresult integrity_check(const struct integrity_tables *tables, uint32_t version,
                         uint64_t unix_seconds, uint64_t result[2]);

#endif
