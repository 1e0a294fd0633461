// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the calls as they are exported. Each does what its NAME_call does without being
 * cancelled meanwhile, tells those who watch (client-lib/report/watch.h), and leaves a line in the program's log of errors
 * if it fails. A call that is too short to be timed waits for nothing, and has no point at which it could be cancelled. */
#include "client-lib/objects/captures.h"
#include "client-lib/objects/error_log.h"
#include "client-lib/report/watch.h"
#include "common/uncancelled.h"
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
