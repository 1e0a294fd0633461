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

bool cuda_op_waits_for_gpu(unsigned int op)
{
    return op < CUDA_OP_LIMIT && waits_for_gpu[op];
}

const char *cuda_op_name(unsigned int op)
{
    return op < CUDA_OP_LIMIT && names[op] ? names[op] : "unknown";
}
