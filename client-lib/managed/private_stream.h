// SPDX-License-Identifier: BSD-3-Clause
// A stream of the library's own in each context that has managed memory: what moves there waits for nothing else.
#ifndef RGPU_CLIENT_PRIVATE_STREAM_H
#define RGPU_CLIENT_PRIVATE_STREAM_H

#include <stdint.h>

#include "proto/cuda_abi.h"

// Makes CONTEXT current, which private_stream_leave undoes where this succeeds. One caller at a time.
CUresult private_stream_enter(uint64_t context, CUstream *stream);
void private_stream_leave(void);

#endif
