// SPDX-License-Identifier: BSD-3-Clause
// Keeps a private stream in each context that has managed memory, so that transfers do not wait for
// other work.
#ifndef RGPU_CLIENT_PRIVATE_STREAM_H
#define RGPU_CLIENT_PRIVATE_STREAM_H

#include <stdint.h>

#include "proto/cuda_abi.h"

// Makes CONTEXT current and returns its private stream. On success private_stream_leave restores
// the old context. One caller at a time.
CUresult private_stream_enter(uint64_t context, CUstream *stream);
void private_stream_leave(void);

#endif
