// SPDX-License-Identifier: BSD-3-Clause
// Waiting for all that a stream or a context has been given. Where memory is shared the GPU itself tells by a flag that
// it has come so far, which takes less time than an answer of the box; the box is asked where a flag may not say all that
// there is to say, or has not come for longer than such waits usually take.
#ifndef RGPU_CLIENT_AWAITED_ENDS_H
#define RGPU_CLIENT_AWAITED_ENDS_H

#include "proto/cuda_abi.h"

CUresult sync_stream(CUstream stream);
CUresult sync_context(void); // the current one

#endif
