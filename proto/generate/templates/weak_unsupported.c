// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "proto/cuda_abi.h"

// Every driver symbol as a weak function that refuses; a strong definition elsewhere replaces it.
#define REFUSE(symbol) \
    __attribute__((weak, visibility("default"))) CUresult symbol(void); \
    CUresult symbol(void) { return CUDA_ERROR_NOT_SUPPORTED; }

% for c in cuda:
%   for symbol, _, _ in c.symbols():
REFUSE(${symbol})
%   end
% end
