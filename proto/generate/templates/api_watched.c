// SPDX-License-Identifier: BSD-3-Clause
// Generated from proto/cuda.spec: the exported calls. Each runs its NAME_call with thread
// cancellation disabled, notifies the watchers (client-lib/cuda/report/watch.h), and writes a line
// to the program's log of errors if it fails. A call that is too short to be timed never blocks, so
// it has no cancellation point.
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/report/error_log.h"
#include "client-lib/cuda/report/watch.h"
#include "common/base/uncancelled.h"
#include "cuda_ops.h"

#define EXPORT __attribute__((visibility("default")))

% for c in cuda:
%   if not c.is_unsupported:
%       for symbol, _, _ in c.symbols():
EXPORT CUresult ${symbol}(${c.prototype});
CUresult ${symbol}_call(${c.prototype});
CUresult ${symbol}(${c.prototype})
{
%           if 'glance' not in c.flags:
    SCOPED_UNCANCELLED;
%           end
%           if 'unsafe' in c.flags:
    if (captures_any() && capture_forbids())
        return error_log_note(${c.number}, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
%           end
    if (!watching())
        return error_log_note(${c.number}, ${symbol}_call(${c.names}));
%           if 'glance' in c.flags:
    return error_log_note(${c.number}, watch_glance(${c.number}, ${symbol}_call(${c.names})));
%           else:
    uint64_t began = watch_enter();
    return error_log_note(${c.number}, watch_call(${c.number}, began, ${symbol}_call(${c.names})));
%           end
}

%       end
%   end
% end
