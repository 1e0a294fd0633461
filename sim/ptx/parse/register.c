// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ptx/parse/parse.h"

#include <errno.h>

enum reg_class type_class(enum type t)
{
    if (t == TY_PRED)
        return CLASS_PRED;
    return type_size(t) > 4 ? CLASS_DOUBLE : CLASS_WORD;
}

uint32_t new_reg(struct compiler *c, enum reg_class class)
{
    if (c->reg_count >= REF_MASK / 2)
        compile_fail(c, -EINVAL, c->token.line, "too many registers");
    c->classes = compile_grow(c, c->classes, c->reg_count, &c->reg_capacity, 1);
    c->classes[c->reg_count] = (uint8_t) class;
    return c->reg_count++;
}
