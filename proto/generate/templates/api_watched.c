// SPDX-License-Identifier: BSD-3-Clause
// Generated from proto/cuda.spec: the exported calls. Each runs its NAME_call with thread
// cancellation disabled, notifies the watchers (client-lib/cuda/report/watch.h), and writes a line
// to the program's log of errors if it fails. A call that is too short to be timed never blocks, so
// it has no cancellation point. If only the call is written by hand, its variant for per-thread
// default streams is the call with that stream.
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/report/error_log.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/work/stream_names.h"
#include "common/base/uncancelled.h"
#include "cuda_ops.h"

#define EXPORT __attribute__((visibility("default")))

% for c in cuda:
%   if not c.is_unsupported:
%       for symbol, _, suffix in c.symbols():
EXPORT CUresult ${symbol}(${c.prototype});
%           does = f'{symbol}_call({c.names})'
%           if c.is_variant_of_call(suffix):
%               does = f'{c.symbol}_call({c.in_stream(c.names, f"stream_per_thread({c.stream_name})")})'
%           else:
CUresult ${symbol}_call(${c.prototype});
%           end
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
        return error_log_note(${c.number}, ${does});
%           if 'glance' in c.flags:
    return error_log_note(${c.number}, watch_glance(${c.number}, ${does}));
%           else:
    uint64_t began = watch_enter();
    return error_log_note(${c.number}, watch_call(${c.number}, began, ${does}));
%           end
}

%       end
%   end
% end
