// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: every call with its parameters, and how it is made. */
#include "error_calls.h"
#include "tests/errors/call_table.h"

% for c in cuda:
static CUresult make_${c.symbol}(void *function, const union argument *a)
{
    return ((fn_${c.symbol} *)function)(${', '.join(p.passed(f'a[{i}]') for i, p in enumerate(c.plain))});
}
% end

const struct call calls[] = {
% for c in cuda:
    {"${c.symbol}", make_${c.symbol}, ${len(c.plain)}, {
%   for p in c.plain:
        {"${p.name}", "${p.base}", ${p.kind}, ${p.pointers}, sizeof(${p.base if p.kind in ('NUMBER', 'ENUMERATION') else 'char'})},
%   end
    }},
% end
};
const unsigned call_count = sizeof calls / sizeof *calls;
