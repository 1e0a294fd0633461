// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "client-lib/cuda/api/unsupported.h"

/* Calls that the client library does not carry: refused, and named once in the log. */
% for c in calls:
%   for symbol, _, _ in c.symbols() if c.is_unsupported else ():
UNSUPPORTED(${symbol}, "${c.reason}")
%   end
% end
