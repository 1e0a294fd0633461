// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#ifndef GEN_WORKER_SERVE_H
#define GEN_WORKER_SERVE_H
#include "cuda_ops.h"
#include "daemon/worker/request/serve.h"

enum serve_trait { /* what they say: proto/cuda.spec */
% for i, trait in enumerate(traits):
    TRAIT_${trait.upper()} = 1 << ${i},
% end
};

% for c in sent:
%   if c.served:
void serve_${c.symbol}(${c.handler});
%   end
%   if 'checked' in c.flags:
bool check_${c.symbol}(const void *args);
%   end
% end
#endif
