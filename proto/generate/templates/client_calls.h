// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: each request that the box understands as a function. */
#ifndef GEN_CLIENT_CALLS_H
#define GEN_CLIENT_CALLS_H
#include <stddef.h>
#include "cuda_ops.h"

% for c in sent:
CUresult remote_${c.symbol}(${c.c_params});
% end
#endif
