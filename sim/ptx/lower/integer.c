// SPDX-License-Identifier: BSD-3-Clause
// Lowering of integer, logical and bit-field instructions, and of selections.
#include "sim/ptx/lower/lower.h"

#include <stdio.h>
#include <string.h>

#include "sim/ptx/alu/alu.h"

// "op.b32" for a type of 32 bits, whatever its kind.
static const char *bits_key(char *key, size_t size, const char *op, enum type t)
{
    snprintf(key, size, "%s.b%u", op, type_size(t) * 8);
    return key;
}

static const char *type_key(char *key, size_t size, const char *op, enum type t)
{
    snprintf(key, size, "%s.%s", op, type_table[t].name);
    return key;
}

static bool is_integer(enum type t)
{
    return type_kind(t) == 'u' || type_kind(t) == 's';
}

static void alu(struct compiler *c, const char *key, enum type td, enum type ta, enum type tb,
                enum type tc, uint32_t imm)
{
    unsigned n = 2 + (tb != TY_NONE) + (tc != TY_NONE);
    uint32_t a, b = REF_NONE, e = REF_NONE, d;

    want_operands(c, n, n);
    a = use(c, opd(c, 1), ta);
    if (tb != TY_NONE)
        b = use(c, opd(c, 2), tb);
    if (tc != TY_NONE)
        e = use(c, opd(c, 3), tc);
    d = define(c, opd(c, 0), td);
    emit_alu(c, key, d, a, b, e, imm);
    define_done(c, opd(c, 0), td, d);
}

static uint32_t carry_flag(struct compiler *c)
{
    if (c->carry == NO_PRED)
        c->carry = REF(REF_REG, new_reg(c, CLASS_PRED));
    return c->carry;
}

// d = a op b with the carry of the condition code taken and, if wanted, the new one kept. After a
// subtraction the flag is set when nothing was borrowed: code that nvcc emits reads it by addc.
static void add_with_carry(struct compiler *c, bool subtract, bool carry_in, bool carry_out,
                           enum type t, uint32_t a, uint32_t b, struct operand *to)
{
    uint32_t sum = new_temp(c, t), flag = carry_flag(c), in = REF_NONE;
    uint32_t d = define(c, to, t);
    char key[32];

    if (carry_in)
        in = flag;
    if (carry_in && subtract) {
        in = new_temp(c, TY_PRED);
        emit_alu(c, "not.pred", in, flag, REF_NONE, REF_NONE, 0);
    }
    snprintf(key, sizeof(key), "%s%s.b%u", subtract ? "sub" : "add", carry_in ? "c" : "",
             type_size(t) * 8);
    emit_alu(c, key, sum, a, b, in, 0);
    if (carry_out) {
        uint32_t out = new_temp(c, TY_PRED);

        snprintf(key, sizeof(key), "%s%s.b%u", subtract ? "borrow" : "carry", carry_in ? "c" : "",
                 type_size(t) * 8);
        emit_alu(c, key, out, a, b, in, 0);
        emit_alu(c, subtract ? "not.pred" : "mov.pred", flag, out, REF_NONE, REF_NONE, 0);
    }
    emit_alu(c, bits_key(key, sizeof(key), "mov", t), d, sum, REF_NONE, REF_NONE, 0);
    define_done(c, to, t, d);
}

static void lower_add(struct compiler *c)
{
    const char *op = c->statement->opcode;
    enum type t = mod_type(c);
    bool cc = mod(c, "cc"), carry_in = op[3] == 'c', sat;
    char key[32];

    if (type_kind(t) == 'f') {
        if (cc || carry_in)
            refuse(c, "carry of floats");
        lower_float_add(c, t);
        return;
    }
    if (type_kind(t) == 'x' && op[0] == 'a' && !cc && !carry_in) {
        alu(c, "add.16x2", t, t, t, TY_NONE, 0);
        return;
    }
    if (!is_integer(t) || type_size(t) < 2)
        refuse(c, "type");
    if (cc || carry_in) {
        want_operands(c, 3, 3);
        if (type_size(t) < 4)
            refuse(c, "type");
        add_with_carry(c, op[0] == 's', carry_in, cc, t, use(c, opd(c, 1), t), use(c, opd(c, 2), t),
                       opd(c, 0));
        return;
    }
    sat = mod(c, "sat");
    if (sat && t != TY_S32)
        refuse(c, "saturation of this type");
    alu(c, sat ? (op[0] == 'a' ? "add.sat.s32" : "sub.sat.s32") : bits_key(key, sizeof(key), op, t),
        t, t, t, TY_NONE, 0);
}

static enum type wide_type(struct compiler *c, enum type t)
{
    switch (t) {
    case TY_U16: return TY_U32;
    case TY_S16: return TY_S32;
    case TY_U32: return TY_U64;
    case TY_S32: return TY_S64;
    default: break;
    }
    refuse(c, ".wide of this type");
}

static void lower_mul(struct compiler *c)
{
    enum type t = mod_type(c);
    char key[32];

    if (type_kind(t) == 'f') {
        lower_float_mul(c, t);
    } else if (!is_integer(t)) {
        refuse(c, "type");
    } else if (mod(c, "wide")) {
        alu(c, type_key(key, sizeof(key), "mul.wide", t), wide_type(c, t), t, t, TY_NONE, 0);
    } else if (mod(c, "hi")) {
        alu(c, type_key(key, sizeof(key), "mul.hi", t), t, t, t, TY_NONE, 0);
    } else {
        mod(c, "lo");
        alu(c, bits_key(key, sizeof(key), "mul.lo", t), t, t, t, TY_NONE, 0);
    }
}

// mad.cc and madc: the product first, then an addition with carries.
static void mad_carry(struct compiler *c, bool high, bool carry_in, bool carry_out, enum type t)
{
    uint32_t product = new_temp(c, t), a, b, e;
    char key[32];

    want_operands(c, 4, 4);
    if (type_size(t) < 4)
        refuse(c, "type");
    a = use(c, opd(c, 1), t);
    b = use(c, opd(c, 2), t);
    e = use(c, opd(c, 3), t);
    if (high)
        type_key(key, sizeof(key), "mul.hi", t);
    else
        bits_key(key, sizeof(key), "mul.lo", t);
    emit_alu(c, key, product, a, b, REF_NONE, 0);
    add_with_carry(c, false, carry_in, carry_out, t, product, e, opd(c, 0));
}

static void lower_mad(struct compiler *c)
{
    enum type t = mod_type(c);
    bool cc = mod(c, "cc"), carry_in = !strcmp(c->statement->opcode, "madc"), high, sat;
    char key[32];

    if (type_kind(t) == 'f') {
        lower_float_fma(c, t);
        return;
    }
    if (!is_integer(t))
        refuse(c, "type");
    if (mod(c, "wide")) {
        enum type w = wide_type(c, t);

        alu(c, type_key(key, sizeof(key), "mad.wide", t), w, t, t, w, 0);
        return;
    }
    high = mod(c, "hi");
    if (!high)
        mod(c, "lo");
    sat = mod(c, "sat");
    if (sat && (!high || t != TY_S32 || cc || carry_in))
        refuse(c, "saturation here");
    if (cc || carry_in)
        mad_carry(c, high, carry_in, cc, t);
    else if (sat)
        alu(c, "mad.hi.sat.s32", t, t, t, t, 0);
    else if (high)
        alu(c, type_key(key, sizeof(key), "mad.hi", t), t, t, t, t, 0);
    else
        alu(c, bits_key(key, sizeof(key), "mad.lo", t), t, t, t, t, 0);
}

static void lower_mul24(struct compiler *c)
{
    enum type t = mod_type(c);
    bool high = mod(c, "hi"), add = !strcmp(c->statement->opcode, "mad24");
    uint32_t a, b, e, d, product;
    char key[32];

    if (!high)
        mod(c, "lo");
    if (t != TY_U32 && t != TY_S32)
        refuse(c, "type");
    want_operands(c, 3 + add, 3 + add);
    a = use(c, opd(c, 1), t);
    b = use(c, opd(c, 2), t);
    snprintf(key, sizeof(key), "mul24.%s.%s", high ? "hi" : "lo", type_table[t].name);
    if (!add) {
        emit_alu(c, key, define(c, opd(c, 0), t), a, b, REF_NONE, 0);
        return;
    }
    e = use(c, opd(c, 3), t);
    product = new_temp(c, t);
    emit_alu(c, key, product, a, b, REF_NONE, 0);
    d = define(c, opd(c, 0), t);
    emit_alu(c, mod(c, "sat") ? "add.sat.s32" : "add.b32", d, product, e, REF_NONE, 0);
}

// div, rem, min, max, sad, abs, neg: op.type; the float ones are in lower_float.c.

static void lower_typed(struct compiler *c)
{
    const char *op = c->statement->opcode;
    enum type t = mod_type(c);
    unsigned n = c->statement->operand_count;
    char key[32];

    if (type_kind(t) == 'f') {
        lower_float_plain(c, t);
        return;
    }
    bool pair = type_kind(t) == 'x' && (!strcmp(op, "min") || !strcmp(op, "max"));
    if (!pair && (!is_integer(t) || type_size(t) < 2))
        refuse(c, "type");
    if (!strcmp(op, "abs") || !strcmp(op, "neg")) {
        if (type_kind(t) != 's')
            refuse(c, "type");
        n = 2;
    } else if (!strcmp(op, "sad")) {
        n = 4;
    } else {
        n = 3;
    }
    type_key(key, sizeof(key), op, t);
    if (mod(c, "relu")) {
        uint32_t d = define(c, opd(c, 0), t), m = new_temp(c, t);

        if (t != TY_S32 && t != TY_S16X2)
            refuse(c, "modifier .relu");
        want_operands(c, 3, 3);
        emit_alu(c, key, m, use(c, opd(c, 1), t), use(c, opd(c, 2), t), REF_NONE, 0);
        emit_alu(c, t == TY_S32 ? "max.s32" : "max.s16x2", d, m, const_ref(c, 0, false), REF_NONE,
                 0);
        return;
    }
    alu(c, key, t, t, n > 2 ? t : TY_NONE, n > 3 ? t : TY_NONE, 0);
}

static void lower_logic(struct compiler *c)
{
    enum type t = mod_type(c);
    const char *op = c->statement->opcode;
    enum type second = !strcmp(op, "not") || !strcmp(op, "cnot") ? TY_NONE : t;
    char key[32];

    if (type_kind(t) != 'p' && type_kind(t) != 'b')
        refuse(c, "type");
    if (t == TY_PRED)
        type_key(key, sizeof(key), op, t);
    else
        bits_key(key, sizeof(key), op, t);
    alu(c, key, t, t, second, TY_NONE, 0);
}

static void lower_shift(struct compiler *c)
{
    enum type t = mod_type(c), u;
    char key[32];

    if (type_kind(t) == 'f' || type_size(t) < 2 || t == TY_PRED)
        refuse(c, "type");
    u = type_size(t) == 2 ? TY_U16 : type_size(t) == 4 ? TY_U32 : TY_U64;
    if (type_kind(t) == 's' && c->statement->opcode[2] == 'r')
        u = t;
    alu(c, type_key(key, sizeof(key), c->statement->opcode, u), t, t, TY_U32, TY_NONE, 0);
}

static void lower_shf(struct compiler *c)
{
    char key[32];
    bool left = mod(c, "l");

    if (!left && !mod(c, "r"))
        refuse(c, "no direction");
    bool wrap = mod(c, "wrap");
    if (!wrap)
        mod(c, "clamp");
    snprintf(key, sizeof(key), "shf.%s.%s.b32", left ? "l" : "r", wrap ? "wrap" : "clamp");
    if (mod_type(c) != TY_B32)
        refuse(c, "type");
    alu(c, key, TY_B32, TY_B32, TY_B32, TY_U32, 0);
}

static void lower_count(struct compiler *c)
{
    enum type t = mod_type(c);
    const char *op = c->statement->opcode;
    char key[32];

    if (!strcmp(op, "brev")) {
        alu(c, bits_key(key, sizeof(key), op, t), t, t, TY_NONE, TY_NONE, 0);
    } else if (!strcmp(op, "bfind")) {
        type_key(key, sizeof(key), mod(c, "shiftamt") ? "bfind.shiftamt" : op, t);
        alu(c, key, TY_U32, t, TY_NONE, TY_NONE, 0);
    } else {
        alu(c, bits_key(key, sizeof(key), op, t), TY_U32, t, TY_NONE, TY_NONE, 0);
    }
}

static void lower_fns(struct compiler *c)
{
    if (mod_type(c) != TY_B32)
        refuse(c, "type");
    alu(c, "fns.b32", TY_B32, TY_B32, TY_U32, TY_S32, 0);
}

static void lower_bfe(struct compiler *c)
{
    enum type t = mod_type(c);
    char key[32];

    alu(c, type_key(key, sizeof(key), "bfe", t), t, t, TY_U32, TY_U32, 0);
}

// bfi f, a, b, pos, len: a shifted to pos replaces len bits of b.
static void lower_bfi(struct compiler *c)
{
    enum type t = mod_type(c);
    uint32_t field, base, pos, len, d, mask, moved;
    char key[32];

    if (t != TY_B32 && t != TY_B64)
        refuse(c, "type");
    want_operands(c, 5, 5);
    field = use(c, opd(c, 1), t);
    base = use(c, opd(c, 2), t);
    pos = use(c, opd(c, 3), TY_U32);
    len = use(c, opd(c, 4), TY_U32);
    mask = new_temp(c, t);
    moved = new_temp(c, t);
    uint32_t low = new_temp(c, TY_U32);
    emit_alu(c, bits_key(key, sizeof(key), "bfimask", t), mask, pos, len, REF_NONE, 0);
    emit_alu(c, "and.b32", low, pos, const_ref(c, 0xff, false), REF_NONE, 0);
    emit_alu(c, t == TY_B32 ? "shl.u32" : "shl.u64", moved, field, low, REF_NONE, 0);
    d = define(c, opd(c, 0), t);
    emit_alu(c, bits_key(key, sizeof(key), "bitselect", t), d, moved, base, mask, 0);
}

static void lower_lop3(struct compiler *c)
{
    struct operand *to = opd(c, 0), *table;
    bool with_or = mod(c, "or"), with_and = !with_or && mod(c, "and");
    uint32_t d, a, b, e, p, q, nonzero;
    unsigned n = 5 + (with_or || with_and);

    if (mod_type(c) != TY_B32)
        refuse(c, "type");
    want_operands(c, n, n);
    table = opd(c, 4);
    if (table->kind != OPD_INT || table->integer > 255)
        malformed(c, "table is not a constant of 8 bits");
    a = use(c, opd(c, 1), TY_B32);
    b = use(c, opd(c, 2), TY_B32);
    e = use(c, opd(c, 3), TY_B32);
    if (n == 5) {
        emit_alu(c, "lop3.b32", define(c, to, TY_B32), a, b, e, (uint32_t)table->integer);
        return;
    }
    if (to->kind != OPD_PAIR)
        malformed(c, "two destinations expected");
    q = use_pred(c, opd(c, 5));
    d = new_temp(c, TY_B32);
    nonzero = new_temp(c, TY_PRED);
    emit_alu(c, "lop3.b32", d, a, b, e, (uint32_t)table->integer);
    emit_alu(c, "setp.ne.u32", nonzero, d, const_ref(c, 0, false), REF_NONE, 0);
    p = define(c, &to->elements[1], TY_PRED);
    emit_alu(c, with_or ? "or.pred" : "and.pred", p, nonzero, q, REF_NONE, 0);
    emit_alu(c, "mov.b32", define(c, &to->elements[0], TY_B32), d, REF_NONE, REF_NONE, 0);
}

static void lower_prmt(struct compiler *c)
{
    static const struct {
        const char *name;
        uint32_t mode;
    } modes[] = {
        {"f4e", PRMT_F4E}, {"b4e", PRMT_B4E}, {"rc8", PRMT_RC8},
        {"ecl", PRMT_ECL}, {"ecr", PRMT_ECR}, {"rc16", PRMT_RC16},
    };
    uint32_t mode = PRMT_INDEX;

    if (mod_type(c) != TY_B32)
        refuse(c, "type");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (mod(c, modes[i].name))
            mode = modes[i].mode;
    alu(c, "prmt.b32", TY_B32, TY_B32, TY_B32, TY_B32, mode);
}

static void lower_dot(struct compiler *c)
{
    const char *op = c->statement->opcode;
    uint32_t flags = 0;
    enum type a, b;

    if (!strcmp(op, "dp2a")) {
        if (mod(c, "hi"))
            flags = DOT_HIGH;
        else if (!mod(c, "lo"))
            refuse(c, "neither .lo nor .hi");
    }
    a = mod_type(c);
    b = mod_type(c);
    if ((a != TY_U32 && a != TY_S32) || (b != TY_U32 && b != TY_S32))
        refuse(c, "type");
    flags |= (a == TY_S32 ? DOT_A_SIGNED : 0u) | (b == TY_S32 ? DOT_B_SIGNED : 0u);
    alu(c, op, TY_U32, TY_U32, TY_U32, TY_U32, flags);
}

// vadd2, vabsdiff4 and the like; without selections of parts.
static void lower_video(struct compiler *c)
{
    static const struct {
        const char *name;
        uint32_t op;
    } ops[] = {
        {"vadd", VIDEO_ADD},         {"vsub", VIDEO_SUB}, {"vavrg", VIDEO_AVERAGE},
        {"vabsdiff", VIDEO_ABSDIFF}, {"vmin", VIDEO_MIN}, {"vmax", VIDEO_MAX},
    };
    const char *name = c->statement->opcode;
    size_t len = strlen(name) - 1;
    uint32_t op = 0, flags;
    enum type d = mod_type(c), a = mod_type(c), b = mod_type(c);

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (strlen(ops[i].name) == len && !memcmp(ops[i].name, name, len))
            op = ops[i].op;
    if (type_size(d) != 4 || type_size(a) != 4 || type_size(b) != 4 || !is_integer(d) ||
        !is_integer(a) || !is_integer(b))
        refuse(c, "type");
    flags = (d == TY_S32 ? VIDEO_D_SIGNED : 0u) | (a == TY_S32 ? VIDEO_A_SIGNED : 0u) |
            (b == TY_S32 ? VIDEO_B_SIGNED : 0u) | (mod(c, "sat") ? VIDEO_SAT : 0u) |
            (mod(c, "add") ? VIDEO_SUM : 0u);
    alu(c, "video", d, a, b, d, VIDEO(op, name[len] - '0', flags));
}

static void lower_szext(struct compiler *c)
{
    char key[32];
    bool wrap = mod(c, "wrap");
    enum type t = mod_type(c);

    if (!wrap)
        mod(c, "clamp");
    snprintf(key, sizeof(key), "%s.%s.%s", c->statement->opcode, wrap ? "wrap" : "clamp",
             type_table[t].name);
    alu(c, key, t, t, TY_U32, TY_NONE, 0);
}

static void lower_selp(struct compiler *c)
{
    enum type t = mod_type(c);
    char key[32];

    if (type_size(t) < 2)
        refuse(c, "type");
    snprintf(key, sizeof(key), "selp.b%u", type_class(t) == CLASS_DOUBLE ? 64 : 32);
    alu(c, key, t, t, t, TY_PRED, 0);
}

static void lower_slct(struct compiler *c)
{
    enum type t, s;
    bool ftz = mod(c, "ftz");
    uint32_t a, b, e;
    char key[32];

    t = mod_type(c);
    s = mod_type(c);
    if (type_size(t) < 2 || (s != TY_S32 && s != TY_F32))
        refuse(c, "type");
    want_operands(c, 4, 4);
    a = use(c, opd(c, 1), t);
    b = use(c, opd(c, 2), t);
    e = use(c, opd(c, 3), s);
    if (ftz) {
        uint32_t flushed = new_temp(c, TY_F32);

        emit_alu(c, "ftz.f32", flushed, e, REF_NONE, REF_NONE, 0);
        e = flushed;
    }
    snprintf(key, sizeof(key), "slct.b%u.%s", type_class(t) == CLASS_DOUBLE ? 64 : 32,
             type_table[s].name);
    emit_alu(c, key, define(c, opd(c, 0), t), a, b, e, 0);
}

const struct lowering lower_integer[] = {
    {"add", lower_add},     {"addc", lower_add},     {"sub", lower_add},
    {"subc", lower_add},    {"mul", lower_mul},      {"mad", lower_mad},
    {"madc", lower_mad},    {"mul24", lower_mul24},  {"mad24", lower_mul24},
    {"div", lower_typed},   {"rem", lower_typed},    {"min", lower_typed},
    {"max", lower_typed},   {"sad", lower_typed},    {"abs", lower_typed},
    {"neg", lower_typed},   {"and", lower_logic},    {"or", lower_logic},
    {"xor", lower_logic},   {"not", lower_logic},    {"cnot", lower_logic},
    {"shl", lower_shift},   {"shr", lower_shift},    {"shf", lower_shf},
    {"popc", lower_count},  {"clz", lower_count},    {"brev", lower_count},
    {"bfind", lower_count}, {"fns", lower_fns},      {"bfe", lower_bfe},
    {"bfi", lower_bfi},     {"lop3", lower_lop3},    {"prmt", lower_prmt},
    {"dp4a", lower_dot},    {"dp2a", lower_dot},     {"vadd2", lower_video},
    {"vsub2", lower_video}, {"vavrg2", lower_video}, {"vabsdiff2", lower_video},
    {"vmin2", lower_video}, {"vmax2", lower_video},  {"vadd4", lower_video},
    {"vsub4", lower_video}, {"vavrg4", lower_video}, {"vabsdiff4", lower_video},
    {"vmin4", lower_video}, {"vmax4", lower_video},  {"szext", lower_szext},
    {"bmsk", lower_szext},  {"selp", lower_selp},    {"slct", lower_slct},
    {NULL, NULL},
};
