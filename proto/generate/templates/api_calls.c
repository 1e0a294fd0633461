// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the calls that have a body there or are their request alone. */
#include <stdio.h>
#include <string.h>

#include "client-lib/cuda/api/call_bodies.h"
#include "client_calls.h"

% for c in cuda:
%   for symbol, _, suffix in c.symbols():
%       if c.body and (not suffix or c.has_variant_by_body):
CUresult ${symbol}(${c.c_params if c.is_sent else c.prototype})
{
%           for line in c.body_lines(suffix):
    ${line}
%           end
}

%       end
%   end
% end
