// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the type of every call. */
#ifndef RGPU_ERROR_CALLS_H
#define RGPU_ERROR_CALLS_H

#include "proto/cuda_abi.h"

% for c in cuda:
typedef CUresult fn_${c.symbol}(${c.prototype});
% end

#endif
