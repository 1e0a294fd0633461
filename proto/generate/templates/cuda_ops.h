// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#ifndef GEN_CUDA_OPS_H
#define GEN_CUDA_OPS_H
#include <stdbool.h>
#include <stdint.h>
#include "proto/cuda_abi.h"
#include "proto/wire.h"

enum cuda_op {
% for c in calls:
    OP_${c.symbol} = ${c.number},
% end
};
#define CUDA_OP_LIMIT ${limit}
const char *cuda_op_name(unsigned int op);
// Returns true if its answer may take as long as work of the GPU does.
bool cuda_op_waits_for_gpu(unsigned int op);
// Returns true if its success may show the caller that work of the GPU is complete.
bool cuda_op_completes(unsigned int op);
// Returns true if it sends work to a GPU that may touch any memory.
bool cuda_op_touches(unsigned int op);
// Returns true if a GPU that was idle before it is idle after it.
bool cuda_op_starts_nothing(unsigned int op);
// Returns true if a budget may refuse it although it is not awaited.
bool cuda_op_is_counted(unsigned int op);
// The requests of this release, and whether boxes of the first one, which do not say, know one.
#define CUDA_REQUESTS ${len(sent)}
extern const struct wire_known_call cuda_requests[CUDA_REQUESTS];
bool cuda_op_known_first(unsigned int op);

% for c in sent:
struct args_${c.symbol} {
%   for kind, name, dimension, _ in c.layout():
    ${kind} ${name}${dimension};
%   end
%   if not c.layout():
    uint8_t none[0];
%   end
} __attribute__((aligned(8)));
%   if c.outs():
struct reply_${c.symbol} {
%       for p in c.reply_layout():
    ${p.out_type} ${p.name};
%       end
} __attribute__((aligned(8)));
%   end
% end
#endif
