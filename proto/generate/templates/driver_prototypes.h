// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the calls of the Driver API by their exported names, as in
 * cuda.h. */
#ifndef GEN_DRIVER_PROTOTYPES_H
#define GEN_DRIVER_PROTOTYPES_H
#include "proto/cuda_abi.h"

% for c in cuda:
CUresult ${c.symbol}(${c.prototype});
% end
#endif
