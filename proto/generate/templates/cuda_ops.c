// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "cuda_ops.h"

static const char *const names[CUDA_OP_LIMIT] = {
% for c in calls:
    [${c.number}] = "${c.symbol}",
% end
};

static const bool waits_for_gpu[CUDA_OP_LIMIT] = {
% for c in sent:
%   if c.waits_for_gpu:
    [${c.number}] = true,
%   end
% end
};

static const bool completes[CUDA_OP_LIMIT] = {
% for c in sent:
%   if c.completes:
    [${c.number}] = true,
%   end
% end
};

static const bool touches[CUDA_OP_LIMIT] = {
% for c in sent:
%   if 'touches' in c.flags:
    [${c.number}] = true,
%   end
% end
};

static const bool counted[CUDA_OP_LIMIT] = {
% for c in sent:
%   if 'counted' in c.flags:
    [${c.number}] = true,
%   end
% end
};

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

bool cuda_op_waits_for_gpu(unsigned int op)
{
    return op < CUDA_OP_LIMIT && waits_for_gpu[op];
}

bool cuda_op_completes(unsigned int op)
{
    return op < CUDA_OP_LIMIT && completes[op];
}

bool cuda_op_touches(unsigned int op)
{
    return op < CUDA_OP_LIMIT && touches[op];
}

bool cuda_op_is_counted(unsigned int op)
{
    return op < CUDA_OP_LIMIT && counted[op];
}

const char *cuda_op_name(unsigned int op)
{
    return op < CUDA_OP_LIMIT && names[op] ? names[op] : "unknown";
}
