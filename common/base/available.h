// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_COMMON_AVAILABLE_H
#define RGPU_COMMON_AVAILABLE_H

#include <stdint.h>

// Returns the bytes that this process can still allocate: the least of the host's available memory
// (MemAvailable of /proc/meminfo) and of what each of the process's control groups (version 2) has
// left of its limit. A number that the kernel does not report is left out; without any the result
// is UINT64_MAX. Thread-safe.
uint64_t memory_available(void);

#endif
