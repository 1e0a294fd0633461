// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "worker_driver.h"

struct driver driver;
const struct driver_symbol driver_symbols[] = {
% for c in calls:
%   if c.is_driven:
    {"${c.symbol}", offsetof(struct driver, ${c.symbol})},
%   end
% end
};
const size_t driver_symbol_count = sizeof(driver_symbols) / sizeof(driver_symbols[0]);
