// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the driver's calls and the runtime's, with CUPTI's numbers of
 * them, by name. */
% for c in sorted((call for call in cuda if call.cupti), key=lambda call: call.symbol):
%   runtime = f'"{c.runtime}", {c.cupti_of_runtime}' if c.runtime else 'NULL, 0'
    {"${c.symbol}", ${c.cupti}, ${runtime}},
% end
