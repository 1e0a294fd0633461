// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "cuda_ops.h"

static const char *const names[CUDA_OP_LIMIT] = {
% for c in calls:
    [${c.number}] = "${c.symbol}",
% end
};

% for name in ('waits_for_gpu', 'completes', 'touches', 'starts_nothing', 'is_counted'):
static const bool ${name}[CUDA_OP_LIMIT] = {
%   for c in sent:
%     if getattr(c, name):
    [${c.number}] = true,
%     end
%   end
};

bool cuda_op_${name}(unsigned int op)
{
    return op < CUDA_OP_LIMIT && ${name}[op];
}

% end
const struct wire_known_call cuda_requests[CUDA_REQUESTS] = {
% for c in sent:
    {${c.number}, 0x${c.form}},
% end
};

static const bool known_first[CUDA_OP_LIMIT] = {
% for c in sent:
%   if known_first.get(c.symbol) == c.locked:
    [${c.number}] = true,
%   end
% end
};

bool cuda_op_known_first(unsigned int op)
{
    return op < CUDA_OP_LIMIT && known_first[op];
}

const char *cuda_op_name(unsigned int op)
{
    return op < CUDA_OP_LIMIT && names[op] ? names[op] : "unknown";
}
