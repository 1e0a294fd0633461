// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "cuda_ops.h"

static const char *const names[CUDA_OP_LIMIT] = {
% for c in calls:
    [${c.number}] = "${c.symbol}",
% end
};

const char *cuda_op_name(unsigned int op)
{
    return op < CUDA_OP_LIMIT && names[op] ? names[op] : "unknown";
}
