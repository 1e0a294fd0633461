// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. Every driver symbol as a weak function, which a strong definition
 * elsewhere replaces: a variant for per-thread default streams is the call with that stream, a call
 * that is another call does so, and all others refuse. */
#include "driver_prototypes.h"

#define WEAK __attribute__((weak, visibility("default"))) CUresult

% for c in cuda:
%   for symbol, _, suffix in c.symbols():
WEAK ${symbol}(${c.prototype});
WEAK ${symbol}(${c.prototype})
{
%       if suffix and c.stream_name:
    return ${c.symbol}(${c.in_stream(c.names, f'{c.stream_name} ? {c.stream_name} : CU_STREAM_PER_THREAD')});
%       elif c.is_another_call and not suffix:
    return ${c.in_stream(c.body, c.stream_name, 'stream')};
%       else:
    return CUDA_ERROR_NOT_SUPPORTED;
%       end
}

%   end
% end
