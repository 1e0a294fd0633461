/* Generated from proto/cuda.spec. */
#ifndef GEN_CLIENT_CALLS_H
#define GEN_CLIENT_CALLS_H
#include <stdbool.h>
#include <stddef.h>
#include "cuda_ops.h"

% for c in sent:
%   if c.remote != c.symbol:
CUresult ${c.remote}(${c.c_params});
%   end
% end

% for c in cuda:
%   if not c.is_unsupported:
%       for symbol, _, _ in c.symbols():
RGPU_EXPORT CUresult ${symbol}(${c.c_params if c.is_sent else c.prototype});
%       end
%   end
% end
#endif
