// SPDX-License-Identifier: BSD-3-Clause
// Fills, operations on words and host functions that are checked, to be queued once or to be run
// again and again. Each belongs to its context in no way but by the stream that it runs in.
#ifndef SIM_STREAM_WORK_H
#define SIM_STREAM_WORK_H

#include "sim/stream.h"

// INVALID_VALUE. A pitch counts only where there are several rows.
CUresult fill_prepare(const CUDA_MEMSET_NODE_PARAMS_v2 *fill, struct operation **out);

// INVALID_VALUE, NOT_SUPPORTED.
CUresult words_prepare(unsigned count, const CUstreamBatchMemOpParams *items, unsigned flags,
                       struct operation **out);

CUresult host_function_prepare(CUhostFn function, void *data, struct operation **out);

#endif
