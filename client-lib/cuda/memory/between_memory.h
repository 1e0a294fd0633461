// SPDX-License-Identifier: BSD-3-Clause
// Device memory for copies that need an intermediate buffer: one buffer for each stream, reused in
// the order of the stream. Any thread may call.
#ifndef RGPU_CLIENT_BETWEEN_MEMORY_H
#define RGPU_CLIENT_BETWEEN_MEMORY_H

#include <stddef.h>

#include "proto/cuda_abi.h"

// Bytes of a buffer.
#define BETWEEN_MEMORY_SIZE ((size_t)8 << 20)

struct between_memory;

// Waits until no other thread uses the buffer of STREAM in the current context, and returns it for
// exclusive use until between_memory_give. copy_begin has resolved STREAM. The caller need not wait
// for work of the stream. Returns NULL if the buffer cannot be allocated, as while streams are
// captured.
struct between_memory *between_memory_take(CUstream stream);
// Lets other threads use the buffer. Copies that were sent to the stream may still use it.
void between_memory_give(struct between_memory *between);
// Returns the buffer's address on the GPU.
CUdeviceptr between_memory_address(const struct between_memory *between);

#endif
