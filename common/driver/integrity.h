// SPDX-License-Identifier: BSD-3-Clause
// The check by which the CUDA runtime convinces itself that it talks to a driver.
#ifndef RGPU_COMMON_DRIVER_INTEGRITY_H
#define RGPU_COMMON_DRIVER_INTEGRITY_H

#include <stdint.h>

#include "proto/cuda_abi.h"

// The digest covers the pointers: they must be those that the caller received.
struct integrity_tables {
    const void *runtime_table;
    const void *integrity_table;
    const void *function;
};

// VERSION and UNIX_SECONDS come from the caller. RESULT is two little-endian halves of the digest.
CUresult integrity_check(const struct integrity_tables *tables, uint32_t version,
                         uint64_t unix_seconds, uint64_t result[2]);

#endif
