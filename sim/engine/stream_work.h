// SPDX-License-Identifier: BSD-3-Clause
// Prepares fills, memory operations and host functions, to be queued once or run many times. They
// belong to a context only through the stream that they run in.
#ifndef SIM_STREAM_WORK_H
#define SIM_STREAM_WORK_H

#include "sim/engine/stream.h"

// Returns INVALID_VALUE. The pitch counts only if there are several rows.
CUresult fill_prepare(const CUDA_MEMSET_NODE_PARAMS_v2 *fill, struct operation **out);

// Returns INVALID_VALUE or NOT_SUPPORTED.
CUresult words_prepare(unsigned count, const CUstreamBatchMemOpParams *items, unsigned flags,
                       struct operation **out);

CUresult host_function_prepare(CUhostFn function, void *data, struct operation **out);

#endif
