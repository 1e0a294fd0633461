// SPDX-License-Identifier: BSD-3-Clause
// The memory that this process can still allocate.
#ifndef RGPU_COMMON_AVAILABLE_H
#define RGPU_COMMON_AVAILABLE_H

#include <stdint.h>

// Returns the bytes that the host can provide without taking them from another process, within the
// limits of the process's control groups (version 2); UINT64_MAX if the kernel does not report it.
uint64_t memory_available(void);

#endif
