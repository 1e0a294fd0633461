// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec: the driver's calls and CUPTI's numbers of them, by name. */
% for c in sorted((call for call in cuda if call.cupti), key=lambda call: call.symbol):
    {"${c.symbol}", ${c.cupti}},
% end
