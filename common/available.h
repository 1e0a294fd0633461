// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process can still have (available.c).
#ifndef RGPU_COMMON_AVAILABLE_H
#define RGPU_COMMON_AVAILABLE_H

#include <stdint.h>

// Bytes that the host has to give without taking them from another process, within the limits of the process's control
// groups (version 2). UINT64_MAX: the kernel does not say.
uint64_t memory_available(void);

#endif
