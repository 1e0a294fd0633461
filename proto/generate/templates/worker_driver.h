// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#ifndef GEN_WORKER_DRIVER_H
#define GEN_WORKER_DRIVER_H
#include <stddef.h>
#include "proto/cuda_abi.h"

/* The driver library's functions, found by name when it is loaded; NULL where it has none. */
struct driver {
% for c in calls:
%   if c.is_driven:
    CUresult (*${c.symbol})(${c.c_params if c.is_sent else c.prototype});
%   end
% end
};
extern struct driver driver;

struct driver_symbol {
    const char *name;
    size_t offset;
};
extern const struct driver_symbol driver_symbols[];
extern const size_t driver_symbol_count;
#endif
