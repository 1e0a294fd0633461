// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "common/driver/proc_address.h"

% rows = sorted((c.base, version, suffix, symbol) for c in cuda for symbol, version, suffix in c.symbols())
% for _, _, _, symbol in rows:
extern void ${symbol}(void);
% end

const struct rgpu_proc_entry rgpu_proc_table[] = {
% for base, version, suffix, symbol in rows:
    {"${base}", ${version}, ${1 if suffix else 0}, (void *)${symbol}},
% end
};
const size_t rgpu_proc_count = sizeof(rgpu_proc_table) / sizeof(rgpu_proc_table[0]);
