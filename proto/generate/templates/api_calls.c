// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the calls that are requests and nothing else. */
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client_calls.h"

% for c in sent:
%   if c.is_exported:
CUresult ${c.symbol}(${c.c_params})
{
    return remote_${c.symbol}(${c.arguments});
}

%       for suffix, _ in c.variants:
CUresult ${c.symbol}_${suffix}(${c.c_params})
{
    return remote_${c.symbol}(${', '.join(f'stream_per_thread({p.name})' if p is c.stream else p.name for p in c.params)});
}

%       end
%   end
% end
