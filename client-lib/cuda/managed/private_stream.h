// SPDX-License-Identifier: BSD-3-Clause
// Keeps a stream of the library in each context that has managed memory, so that transfers do not
// wait for the program's work.
#ifndef RGPU_CLIENT_PRIVATE_STREAM_H
#define RGPU_CLIENT_PRIVATE_STREAM_H

#include <stdint.h>

#include "proto/cuda_abi.h"

// Makes CONTEXT (a handle) current, and creates its private stream on first use. The caller does
// not destroy *STREAM. After success the caller calls private_stream_leave, which restores the old
// context. Only one thread at a time may call.
CUresult private_stream_enter(uint64_t context, CUstream *stream);
void private_stream_leave(void);

#endif
