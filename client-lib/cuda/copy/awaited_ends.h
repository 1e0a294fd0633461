// SPDX-License-Identifier: BSD-3-Clause
// Waits for all work of a stream or a context. If memory is shared, the GPU itself signals this by
// a flag, which takes less time than an answer of the box. The box is queried if a flag cannot
// replace its answer, or if the flag is not set within the usual time.
#ifndef RGPU_CLIENT_AWAITED_ENDS_H
#define RGPU_CLIENT_AWAITED_ENDS_H

#include "proto/cuda_abi.h"

// Waits for all work of STREAM, as the program names it. Returns as cuStreamSynchronize does.
CUresult sync_stream(CUstream stream);
// Waits for all work of the current context. Returns as cuCtxSynchronize does.
CUresult sync_context(void);

#endif
