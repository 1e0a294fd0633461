// SPDX-License-Identifier: BSD-3-Clause
// Device memory by way of which copies go that cannot go straight: a piece for each stream, in whose order it is used
// again and again. Any thread may call.
#ifndef RGPU_CLIENT_BETWEEN_MEMORY_H
#define RGPU_CLIENT_BETWEEN_MEMORY_H

#include <stddef.h>

#include "proto/cuda_abi.h"

#define BETWEEN_MEMORY_SIZE ((size_t)8 << 20)

struct between_memory;

// The piece of STREAM, which is one that copy_begin has resolved, for the caller alone until it gives it back. It need
// not wait for the stream. NULL: there is no memory left.
struct between_memory *between_memory_take(CUstream stream);
void between_memory_give(struct between_memory *between);
CUdeviceptr between_memory_address(const struct between_memory *between);

#endif
