// SPDX-License-Identifier: BSD-3-Clause
// Lowers mov: copies, addresses, and the packing and unpacking of vectors.
#include "sim/ptx/lower/lower.h"

static uint32_t move_take(struct compiler *c, const char *key, uint32_t from, uint32_t imm)
{
    uint32_t d = new_temp(c, TY_B32);

    emit_alu(c, key, d, from, REF_NONE, REF_NONE, imm);
    return d;
}

// Lowers {a, b, ...} = value. Extracts all parts before it writes any.
static void move_unpack(struct compiler *c, struct operand *to, enum type t, uint32_t value)
{
    unsigned n = to->count, part = n ? type_size(t) / n : 0;
    uint32_t parts[4];

    if ((n != 2 && n != 4) || part * n != type_size(t) || !part)
        malformed(c, "vector does not fit the type");
    for (unsigned i = 0; i < n; i++) {
        if (part == 4) {
            parts[i] = move_take(c, i ? "high.b32.b64" : "low.b32.b64", value, 0);
        } else if (part == 2 && n == 4) {
            uint32_t word = move_take(c, i > 1 ? "high.b32.b64" : "low.b32.b64", value, 0);

            parts[i] = move_take(c, i & 1 ? "high.b16.b32" : "low.b16.b32", word, 0);
        } else if (part == 2) {
            parts[i] = move_take(c, i ? "high.b16.b32" : "low.b16.b32", value, 0);
        } else {
            parts[i] = move_take(c, "byte.b32", value, 8 * i);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        struct operand *e = &to->elements[i];
        enum type pt = part == 4 ? TY_B32 : part == 2 ? TY_B16 : TY_B8;

        if (e->kind == OPD_SINK)
            continue;
        uint32_t d = define(c, e, pt);
        emit_alu(c, "mov.b32", d, parts[i], REF_NONE, REF_NONE, 0);
        define_done(c, e, pt, d);
    }
}

static uint32_t pack2(struct compiler *c, const char *key, enum type t, uint32_t low, uint32_t high)
{
    uint32_t d = new_temp(c, t);

    emit_alu(c, key, d, low, high, REF_NONE, 0);
    return d;
}

static uint32_t move_pack(struct compiler *c, struct operand *from, enum type t)
{
    unsigned n = from->count, part = n ? type_size(t) / n : 0;
    uint32_t parts[4];

    if ((n != 2 && n != 4) || part * n != type_size(t) || !part)
        malformed(c, "vector does not fit the type");
    for (unsigned i = 0; i < n; i++)
        parts[i] = use(c, &from->elements[i], part == 4 ? TY_B32 : part == 2 ? TY_B16 : TY_B8);
    if (part == 4)
        return pack2(c, "pack.b64.b32", TY_B64, parts[0], parts[1]);
    if (part == 2 && n == 2)
        return pack2(c, "pack.b32.b16", TY_B32, parts[0], parts[1]);
    if (part == 2)
        return pack2(c, "pack.b64.b32", TY_B64,
                     pack2(c, "pack.b32.b16", TY_B32, parts[0], parts[1]),
                     pack2(c, "pack.b32.b16", TY_B32, parts[2], parts[3]));
    // bytes are masked, shifted and joined
    uint32_t word = const_ref(c, 0, false);
    for (unsigned i = 0; i < n; i++) {
        uint32_t byte = move_take(c, "cvt.u8.u8", parts[i], 0), moved = new_temp(c, TY_B32),
                 joined = new_temp(c, TY_B32);

        emit_alu(c, "shl.u32", moved, byte, const_ref(c, 8 * i, false), REF_NONE, 0);
        emit_alu(c, "or.b32", joined, word, moved, REF_NONE, 0);
        word = joined;
    }
    return word;
}

static void lower_mov(struct compiler *c)
{
    enum type t = mod_type(c);
    struct operand *to = opd(c, 0), *from = opd(c, 1);
    uint32_t a, d;

    want_operands(c, 2, 2);
    if (t == TY_B128)
        refuse(c, "type");
    if (from->kind == OPD_VECTOR)
        a = move_pack(c, from, t);
    else if (from->kind == OPD_REG && from->special && type_class(from->type) == CLASS_WORD &&
             type_class(t) == CLASS_DOUBLE)
        a = use_wide(c, from); // mov.u64 of a 32-bit special register
    else
        a = use(c, from, t);
    if (to->kind == OPD_VECTOR) {
        move_unpack(c, to, t, a);
        return;
    }
    d = define(c, to, t);
    emit_alu(c,
             t == TY_PRED                    ? "mov.pred"
             : type_class(t) == CLASS_DOUBLE ? "mov.b64"
                                             : "mov.b32",
             d, a, REF_NONE, REF_NONE, 0);
    define_done(c, to, t, d);
}

const struct lowering lower_move[] = {
    {"mov", lower_mov},
    {NULL, NULL},
};
