// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_COMMON_AVAILABLE_H
#define RGPU_COMMON_AVAILABLE_H

#include <stdint.h>

// Returns the bytes that this process can still allocate: available memory of the host, within the
// limits of the process's control groups (version 2). UINT64_MAX if the kernel does not report it.
// Thread-safe.
uint64_t memory_available(void);

#endif
