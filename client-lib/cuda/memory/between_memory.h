// SPDX-License-Identifier: BSD-3-Clause
// Device memory for copies that need an intermediate buffer: one buffer for each stream, reused in
// the order of the stream. Any thread may call.
#ifndef RGPU_CLIENT_BETWEEN_MEMORY_H
#define RGPU_CLIENT_BETWEEN_MEMORY_H

#include <stddef.h>

#include "proto/cuda_abi.h"

#define BETWEEN_MEMORY_SIZE ((size_t)8 << 20)

struct between_memory;

// Returns the buffer of STREAM, which copy_begin has resolved, for exclusive use until
// between_memory_give. The caller need not wait for the stream. NULL: there is no memory left.
struct between_memory *between_memory_take(CUstream stream);
void between_memory_give(struct between_memory *between);
CUdeviceptr between_memory_address(const struct between_memory *between);

#endif
