// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#include "tests/fuzz/request_shapes.h"

#include <stddef.h>

#include "cuda_ops.h"

#define FIELD(op, name, kind, handle) \
    {offsetof(struct args_##op, name), sizeof(((struct args_##op *)0)->name), kind, handle}

% for c in sent:
%   if c.layout():
static const struct request_field fields_of_${c.symbol}[] = {
%       for name, kind, handle in c.fields():
    FIELD(${c.symbol}, ${name}, FIELD_${kind}, ${handle}),
%       end
};
%   end
% end
const struct request_shape request_shapes[] = {
% for c in sent:
    {
        .op = OP_${c.symbol},
        .args_size = sizeof(struct args_${c.symbol}),
%   if c.layout():
        .fields = fields_of_${c.symbol},
        .field_count = ${len(c.layout())},
%   end
        .tail = ${'REQUEST_STRING' if c.string else 'REQUEST_BYTES' if c.tail('bytes') else 'REQUEST_NO_TAIL'},
%   if c.answered_address:
        .answers_address = true,
        .address_offset = offsetof(struct reply_${c.symbol}, ${c.answered_address}),
%   end
    },
% end
};
const unsigned request_shape_count = sizeof(request_shapes) / sizeof(*request_shapes);
