// SPDX-License-Identifier: BSD-3-Clause
// Prepares memsets, memory operations and host functions. A prepared operation can run many times,
// in any stream.
#ifndef SIM_STREAM_WORK_H
#define SIM_STREAM_WORK_H

#include "sim/engine/stream.h"

// Returns INVALID_VALUE. The pitch is ignored if there is one row.
CUresult fill_prepare(const CUDA_MEMSET_NODE_PARAMS_v2 *fill, struct operation **out);

// Returns INVALID_VALUE or NOT_SUPPORTED.
CUresult words_prepare(unsigned count, const CUstreamBatchMemOpParams *items, unsigned flags,
                       struct operation **out);

CUresult host_function_prepare(CUhostFn function, void *data, struct operation **out);

#endif
