// SPDX-License-Identifier: BSD-3-Clause
// Lowers floating-point instructions and conversions.
#include "sim/ptx/lower/lower.h"

#include <stdio.h>
#include <string.h>

#include "sim/ptx/alu/alu.h"
#include "sim/ptx/alu/small_float.h"

static enum rounding rounding(struct compiler *c)
{
    static const char *const names[] = {"rn", "rz", "rm", "rp"};

    for (unsigned i = 0; i < 4; i++)
        if (mod(c, names[i]))
            return (enum rounding)i;
    return ROUND_RN;
}

// Returns the scalar type of a pair of 16-bit floats, or TY_NONE.
static enum type pair_half(enum type t)
{
    return t == TY_F16X2 ? TY_F16 : t == TY_BF16X2 ? TY_BF16 : TY_NONE;
}

struct float_op {
    const char *name; // name of the row
    int rounded;      // ROUNDED_... or -1
    unsigned sources;
    enum rounding mode;
    bool ftz, sat, relu, nan;
};

static uint32_t unary(struct compiler *c, const char *op, enum type t, uint32_t a)
{
    uint32_t d = new_temp(c, t);
    char key[32];

    snprintf(key, sizeof(key), "%s.%s", op, type_table[t].name);
    emit_alu(c, key, d, a, REF_NONE, REF_NONE, 0);
    return d;
}

static bool has_ftz_row(const char *name)
{
    return !strcmp(name, "add") || !strcmp(name, "sub") || !strcmp(name, "mul") ||
           !strcmp(name, "fma");
}

// Emits one operation on registers of a scalar type, with the result in d.
static void float_scalar(struct compiler *c, const struct float_op *op, enum type t, uint32_t d,
                         uint32_t s[3])
{
    bool ftz_row = op->ftz && t == TY_F32 && op->mode == ROUND_RN && has_ftz_row(op->name);
    bool flush = op->ftz && t != TY_F64 && !ftz_row;
    uint32_t to = flush || op->sat || (op->relu && strcmp(op->name, "fma")) ? new_temp(c, t) : d;
    char key[48];

    for (unsigned i = 0; flush && i < op->sources; i++)
        s[i] = unary(c, "ftz", t, s[i]);
    if (op->mode != ROUND_RN) {
        if (op->rounded < 0 || (t != TY_F32 && t != TY_F64))
            refuse(c, "this rounding");
        emit_alu(c, t == TY_F32 ? "round.f32" : "round.f64", to, s[0],
                 op->sources > 1 ? s[1] : const_ref(c, 0, t == TY_F64),
                 op->sources > 2 ? s[2] : const_ref(c, 0, t == TY_F64),
                 ROUNDED(op->rounded, op->mode));
    } else {
        snprintf(key, sizeof(key), "%s%s%s.%s", op->name,
                 ftz_row                                ? ".ftz"
                 : op->relu && !strcmp(op->name, "fma") ? ".relu"
                                                        : "",
                 op->nan ? ".NaN" : "", type_table[t].name);
        emit_alu(c, key, to, s[0], op->sources > 1 ? s[1] : REF_NONE,
                 op->sources > 2 ? s[2] : REF_NONE, 0);
    }
    if (op->relu && strcmp(op->name, "fma")) {
        uint32_t zero = const_ref(c, 0, false), r = flush || op->sat ? new_temp(c, t) : d;

        snprintf(key, sizeof(key), "max.%s", type_table[t].name);
        emit_alu(c, key, r, to, zero, REF_NONE, 0);
        to = r;
    }
    if (flush) {
        snprintf(key, sizeof(key), "ftz.%s", type_table[t].name);
        uint32_t r = op->sat ? new_temp(c, t) : d;
        emit_alu(c, key, r, to, REF_NONE, REF_NONE, 0);
        to = r;
    }
    if (op->sat) {
        snprintf(key, sizeof(key), "sat.%s", type_table[t].name);
        emit_alu(c, key, d, to, REF_NONE, REF_NONE, 0);
    }
}

// Splits pairs, computes each half, and joins the results.
static void float_pair(struct compiler *c, const struct float_op *op, enum type half, uint32_t d,
                       uint32_t s[3])
{
    uint32_t result[2];

    for (int k = 0; k < 2; k++) {
        uint32_t parts[3];

        for (unsigned i = 0; i < op->sources; i++) {
            parts[i] = new_temp(c, TY_B32);
            emit_alu(c, k ? "high.b16.b32" : "low.b16.b32", parts[i], s[i], REF_NONE, REF_NONE, 0);
        }
        result[k] = new_temp(c, half);
        float_scalar(c, op, half, result[k], parts);
    }
    emit_alu(c, "pack.b32.b16", d, result[0], result[1], REF_NONE, 0);
}

static void float_modifiers(struct compiler *c, struct float_op *op, enum type t)
{
    op->mode = rounding(c);
    op->ftz = mod(c, "ftz");
    op->sat = mod(c, "sat");
    op->relu = mod(c, "relu");
    op->nan = mod(c, "NaN");
    if (op->nan && strcmp(op->name, "min") && strcmp(op->name, "max"))
        refuse(c, "modifier .NaN");
    if (op->relu && (t == TY_F32 || t == TY_F64))
        refuse(c, "modifier .relu");
    if ((op->ftz || op->sat) && t == TY_F64)
        refuse(c, "modifier of f32");
}

static void float_op(struct compiler *c, struct float_op *op, enum type t)
{
    uint32_t s[3] = {REF_NONE, REF_NONE, REF_NONE}, d;

    float_modifiers(c, op, t);
    want_operands(c, op->sources + 1, op->sources + 1);
    for (unsigned i = 0; i < op->sources; i++)
        s[i] = use(c, opd(c, 1 + i), t);
    d = define(c, opd(c, 0), t);
    if (pair_half(t) != TY_NONE)
        float_pair(c, op, pair_half(t), d, s);
    else
        float_scalar(c, op, t, d, s);
}

void lower_float_add(struct compiler *c, enum type t)
{
    bool subtract = c->statement->opcode[0] == 's';
    struct float_op op = {.name = subtract ? "sub" : "add",
                          .sources = 2,
                          .rounded = subtract ? ROUNDED_SUB : ROUNDED_ADD};

    float_op(c, &op, t);
}

void lower_float_mul(struct compiler *c, enum type t)
{
    struct float_op op = {.name = "mul", .sources = 2, .rounded = ROUNDED_MUL};

    float_op(c, &op, t);
}

void lower_float_fma(struct compiler *c, enum type t)
{
    struct float_op op = {.name = "fma", .sources = 3, .rounded = ROUNDED_FMA};

    float_op(c, &op, t);
}

static void lower_fma(struct compiler *c)
{
    enum type t = mod_type(c);

    if (type_kind(t) != 'f')
        refuse(c, "type");
    lower_float_fma(c, t);
}

// Lowers div, min, max, abs, neg of floats.
void lower_float_plain(struct compiler *c, enum type t)
{
    const char *name = c->statement->opcode;
    struct float_op op = {.name = name, .rounded = -1, .sources = 2};

    if (!strcmp(name, "div")) {
        op.rounded = ROUNDED_DIV;
        if (t != TY_F32 && t != TY_F64)
            refuse(c, "type");
        if (!mod(c, "approx"))
            mod(c, "full");
    } else if (!strcmp(name, "abs") || !strcmp(name, "neg")) {
        op.sources = 1;
    } else if (strcmp(name, "min") && strcmp(name, "max")) {
        refuse(c, "type");
    }
    if (op.sources == 2 && c->statement->operand_count == 4 && t == TY_F32)
        refuse(c, "three operands");
    if (mod(c, "xorsign"))
        refuse(c, "modifier .xorsign");
    float_op(c, &op, t);
}

// Lowers rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh.
static void lower_function(struct compiler *c)
{
    const char *name = c->statement->opcode;
    enum type t = mod_type(c);
    struct float_op op = {.name = name, .rounded = -1, .sources = 1};
    bool approx = mod(c, "approx");

    if (!strcmp(name, "rcp"))
        op.rounded = ROUNDED_RCP;
    else if (!strcmp(name, "sqrt"))
        op.rounded = ROUNDED_SQRT;
    else if (!approx)
        refuse(c, "only .approx");
    if (t == TY_F64) {
        if (approx && mod(c, "ftz")) {
            char key[32];

            if (strcmp(name, "rcp") && strcmp(name, "rsqrt"))
                refuse(c, "type");
            snprintf(key, sizeof(key), "%s.ftz.f64", name);
            want_operands(c, 2, 2);
            uint32_t a = use(c, opd(c, 1), t);
            emit_alu(c, key, define(c, opd(c, 0), t), a, REF_NONE, REF_NONE, 0);
            return;
        }
        if (op.rounded < 0 && strcmp(name, "rsqrt"))
            refuse(c, "type");
    }
    float_op(c, &op, t);
}

static void lower_testp(struct compiler *c)
{
    static const char *const tests[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
    enum type t = mod_type(c);
    char key[32];

    want_operands(c, 2, 2);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (!mod(c, tests[i]))
            continue;
        snprintf(key, sizeof(key), "testp.%s.%s", tests[i], type_table[t].name);
        uint32_t a = use(c, opd(c, 1), t);
        emit_alu(c, key, define(c, opd(c, 0), TY_PRED), a, REF_NONE, REF_NONE, 0);
        return;
    }
    refuse(c, "no test");
}

static void lower_copysign(struct compiler *c)
{
    enum type t = mod_type(c);

    if (t != TY_F32 && t != TY_F64)
        refuse(c, "type");
    want_operands(c, 3, 3);
    uint32_t a = use(c, opd(c, 1), t), b = use(c, opd(c, 2), t);
    emit_alu(c, t == TY_F32 ? "copysign.f32" : "copysign.f64", define(c, opd(c, 0), t), a, b,
             REF_NONE, 0);
}

struct conversion {
    enum type to, from;
    enum rounding mode;
    unsigned flags;
};

static void emit_conversion(struct compiler *c, const struct conversion *v, uint32_t d, uint32_t a)
{
    char key[32];

    snprintf(key, sizeof(key), "convert.%c%c", type_class(v->to) == CLASS_DOUBLE ? 'd' : 'w',
             type_class(v->from) == CLASS_DOUBLE ? 'd' : 'w');
    emit_alu(c, key, d, a, REF_NONE, REF_NONE, CONVERT(v->to, v->from, v->mode, v->flags));
}

// Returns the row that does a plain conversion quickly, or NULL.
static const char *quick_conversion(const struct conversion *v, char *key, size_t size)
{
    bool to_float = type_kind(v->to) == 'f', from_float = type_kind(v->from) == 'f';

    if (v->flags & ~(unsigned)CONVERT_INTEGRAL)
        return NULL;
    if (!to_float && from_float)
        snprintf(key, size, "cvt.rzi.%s.%s", type_table[v->to].name, type_table[v->from].name);
    else
        snprintf(key, size, "cvt.%s.%s", type_table[v->to].name, type_table[v->from].name);
    if (!to_float && from_float ? v->mode != ROUND_RZ : v->mode != ROUND_RN)
        return NULL;
    if (to_float && v->flags)
        return NULL;
    return alu_find(key) ? key : NULL;
}

static void conversion_mode(struct compiler *c, struct conversion *v)
{
    static const char *const integral[] = {"rni", "rzi", "rmi", "rpi"};

    v->mode = ROUND_RN;
    for (unsigned i = 0; i < 4; i++) {
        if (mod(c, integral[i])) {
            v->mode = (enum rounding)i;
            v->flags |= CONVERT_INTEGRAL;
            return;
        }
    }
    v->mode = rounding(c);
}

// Lowers cvt.rn.f16x2.f32 d, a, b; a goes to the high half.
static void convert_pair(struct compiler *c, struct conversion *v)
{
    uint32_t a, b, high, low;

    if (v->from != TY_F32)
        refuse(c, "type");
    want_operands(c, 3, 3);
    v->to = pair_half(v->to);
    a = use(c, opd(c, 1), TY_F32);
    b = use(c, opd(c, 2), TY_F32);
    high = new_temp(c, TY_B32);
    low = new_temp(c, TY_B32);
    emit_conversion(c, v, high, a);
    emit_conversion(c, v, low, b);
    emit_alu(c, "pack.b32.b16", define(c, opd(c, 0), TY_B32), low, high, REF_NONE, 0);
}

static void lower_cvt(struct compiler *c)
{
    struct conversion v = {0};
    uint32_t a, d;
    char key[40];

    if (mod(c, "pack"))
        refuse(c, "cvt.pack");
    conversion_mode(c, &v);
    v.flags |= (mod(c, "ftz") ? CONVERT_FTZ : 0u) | (mod(c, "sat") ? CONVERT_SAT : 0u) |
               (mod(c, "relu") ? CONVERT_RELU : 0u);
    v.to = mod_type(c);
    v.from = mod_type(c);
    if (pair_half(v.to) != TY_NONE) {
        convert_pair(c, &v);
        return;
    }
    if (type_kind(v.to) == 'b' || type_kind(v.from) == 'b' || type_kind(v.to) == 'p' ||
        type_kind(v.from) == 'p' || pair_half(v.from) != TY_NONE)
        refuse(c, "type");
    want_operands(c, 2, 2);
    a = use(c, opd(c, 1), v.from);
    d = define(c, opd(c, 0), v.to);
    if (v.to == v.from && !v.flags) {
        emit_alu(c, type_class(v.to) == CLASS_DOUBLE ? "mov.b64" : "mov.b32", d, a, REF_NONE,
                 REF_NONE, 0);
        if (type_size(v.to) == 1) // extends the upper bits of the register, too
            emit_alu(c, v.to == TY_U8 ? "cvt.u8.u8" : "cvt.s8.s8", d, d, REF_NONE, REF_NONE, 0);
    } else if (quick_conversion(&v, key, sizeof(key))) {
        emit_alu(c, key, d, a, REF_NONE, REF_NONE, 0);
    } else {
        emit_conversion(c, &v, d, a);
    }
    define_done(c, opd(c, 0), v.to, d);
}

const struct lowering lower_float[] = {
    {"fma", lower_fma},
    {"rcp", lower_function},
    {"sqrt", lower_function},
    {"rsqrt", lower_function},
    {"sin", lower_function},
    {"cos", lower_function},
    {"lg2", lower_function},
    {"ex2", lower_function},
    {"tanh", lower_function},
    {"testp", lower_testp},
    {"copysign", lower_copysign},
    {"cvt", lower_cvt},
    {NULL, NULL},
};
