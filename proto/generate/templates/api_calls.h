// SPDX-License-Identifier: BSD-3-Clause
// Generated from proto/cuda.spec: the driver calls that the client library implements. Each is
// written under its own name and compiled as NAME_call; api_watched.c has the exported functions.
#ifndef GEN_API_CALLS_H
#define GEN_API_CALLS_H
#include "cuda_ops.h"

% for c in cuda:
%   if not c.is_unsupported:
%       for symbol, _, suffix in c.symbols():
%           if not c.is_variant_of_call(suffix):
#define ${symbol} ${symbol}_call
CUresult ${symbol}(${c.c_params if c.is_sent else c.prototype});
%           end
%       end
%   end
% end
#endif
