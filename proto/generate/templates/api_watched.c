// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the calls as they are exported. Each does what its NAME_call does, and
 * tells those who watch (client-lib/report/watch.h). */
#include "client-lib/objects/captures.h"
#include "client-lib/report/watch.h"
#include "cuda_ops.h"

#define EXPORT __attribute__((visibility("default")))

% for c in cuda:
%   if not c.is_unsupported:
%       for symbol, _, _ in c.symbols():
EXPORT CUresult ${symbol}(${c.prototype});
CUresult ${symbol}_call(${c.prototype});
CUresult ${symbol}(${c.prototype})
{
%           if 'unsafe' in c.flags:
    if (captures_any() && capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
%           end
    if (!watching())
        return ${symbol}_call(${c.names});
%           if 'glance' in c.flags:
    return watch_glance(${c.number}, ${symbol}_call(${c.names}));
%           else:
    uint64_t began = watch_enter();
    return watch_call(${c.number}, began, ${symbol}_call(${c.names}));
%           end
}

%       end
%   end
% end
