// SPDX-License-Identifier: BSD-3-Clause
// The values by which a program may name a default stream.
#ifndef RGPU_CLIENT_STREAM_NAMES_H
#define RGPU_CLIENT_STREAM_NAMES_H

#include "proto/cuda_abi.h"

// Returns the stream that STREAM names in a per-thread variant (_ptsz, _ptds) of a call: NULL names
// the per-thread default stream.
static inline CUstream stream_per_thread(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

#endif
