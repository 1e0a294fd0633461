// SPDX-License-Identifier: BSD-3-Clause
// Lowers comparisons: setp and set, of all types, with boolean operators.
#include "sim/ptx/lower/lower.h"

#include <stdio.h>

// Returns the comparison named by a modifier, as written in the key for the type.
static const char *comparison(struct compiler *c, enum type t)
{
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                        "lo",  "ls",  "hi",  "hs",  "equ", "neu",
                                        "ltu", "leu", "gtu", "geu", "num", "nan"};
    static const char *const unsigned_names[] = {"lt", "le", "gt", "ge"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!mod(c, names[i]))
            continue;
        if (i >= 10 && type_kind(t) != 'f')
            refuse(c, "unordered comparison of integers");
        if (i >= 6 && i < 10)
            return unsigned_names[i - 6];
        return names[i];
    }
    refuse(c, "no comparison");
}

static uint32_t compare_half_of(struct compiler *c, uint32_t pair, bool high)
{
    uint32_t d = new_temp(c, TY_B32);

    emit_alu(c, high ? "high.b16.b32" : "low.b16.b32", d, pair, REF_NONE, REF_NONE, 0);
    return d;
}

static uint32_t flush_input(struct compiler *c, uint32_t ref, enum type t)
{
    uint32_t d = new_temp(c, t);

    emit_alu(c,
             t == TY_F32   ? "ftz.f32"
             : t == TY_F16 ? "ftz.f16"
                           : "ftz.bf16",
             d, ref, REF_NONE, REF_NONE, 0);
    return d;
}

// Returns the predicate of a cmp b.
static uint32_t compare_lower(struct compiler *c, const char *cmp, bool ftz, enum type t,
                              uint32_t a, uint32_t b)
{
    uint32_t d = new_temp(c, TY_PRED);
    enum type k = t;
    char key[32];

    if (ftz && type_size(t) <= 4) {
        a = flush_input(c, a, t);
        b = flush_input(c, b, t);
    }
    if (type_kind(t) == 'b')
        k = type_size(t) == 2 ? TY_U16 : type_size(t) == 4 ? TY_U32 : TY_U64;
    snprintf(key, sizeof(key), "setp.%s.%s", cmp, type_table[k].name);
    emit_alu(c, key, d, a, b, REF_NONE, 0);
    return d;
}

static const char *boolean(struct compiler *c)
{
    return mod(c, "and")   ? "and.pred"
           : mod(c, "or")  ? "or.pred"
           : mod(c, "xor") ? "xor.pred"
                           : NULL;
}

// Computes p = t op c, q = !t op c.
static void finish_setp(struct compiler *c, uint32_t t, const char *op, uint32_t with,
                        struct operand *p, struct operand *q)
{
    uint32_t inverse = new_temp(c, TY_PRED);

    if (q)
        emit_alu(c, "not.pred", inverse, t, REF_NONE, REF_NONE, 0);
    if (op) {
        emit_alu(c, op, define(c, p, TY_PRED), t, with, REF_NONE, 0);
        if (q)
            emit_alu(c, op, define(c, q, TY_PRED), inverse, with, REF_NONE, 0);
    } else {
        emit_alu(c, "mov.pred", define(c, p, TY_PRED), t, REF_NONE, REF_NONE, 0);
        if (q)
            emit_alu(c, "mov.pred", define(c, q, TY_PRED), inverse, REF_NONE, REF_NONE, 0);
    }
}

static void setp_pair(struct compiler *c, const char *cmp, const char *op, bool ftz, enum type t)
{
    enum type half = t == TY_F16X2 ? TY_F16 : TY_BF16;
    struct operand *to = opd(c, 0);
    uint32_t a = use(c, opd(c, 1), TY_B32), b = use(c, opd(c, 2), TY_B32);
    uint32_t low, high, with = op ? use_pred(c, opd(c, 3)) : REF_NONE;

    if (to->kind != OPD_PAIR)
        malformed(c, "two destinations expected");
    low = compare_lower(c, cmp, ftz, half, compare_half_of(c, a, false),
                        compare_half_of(c, b, false));
    high =
        compare_lower(c, cmp, ftz, half, compare_half_of(c, a, true), compare_half_of(c, b, true));
    // Copies the other predicate, because it may be the first destination.
    if (op) {
        uint32_t copy = new_temp(c, TY_PRED);

        emit_alu(c, "mov.pred", copy, with, REF_NONE, REF_NONE, 0);
        with = copy;
    }
    finish_setp(c, low, op, with, &to->elements[0], NULL);
    finish_setp(c, high, op, with, &to->elements[1], NULL);
}

static void lower_setp(struct compiler *c)
{
    enum type t = mod_type(c);
    const char *op = boolean(c), *cmp = comparison(c, t);
    bool ftz = mod(c, "ftz");
    struct operand *to = opd(c, 0);
    uint32_t a, b, with = REF_NONE;
    unsigned n = op ? 4 : 3;

    want_operands(c, n, n);
    if (t == TY_F16X2 || t == TY_BF16X2) {
        setp_pair(c, cmp, op, ftz, t);
        return;
    }
    if (type_size(t) < 2)
        refuse(c, "type");
    a = use(c, opd(c, 1), t);
    b = use(c, opd(c, 2), t);
    if (op) {
        with = new_temp(c, TY_PRED);
        emit_alu(c, "mov.pred", with, use_pred(c, opd(c, 3)), REF_NONE, REF_NONE, 0);
    } else if (to->kind == OPD_REG && to->type == TY_PRED && !(ftz && type_size(t) <= 4)) {
        char key[32];
        enum type k = type_kind(t) != 'b' ? t
                      : type_size(t) == 2 ? TY_U16
                      : type_size(t) == 4 ? TY_U32
                                          : TY_U64;

        snprintf(key, sizeof(key), "setp.%s.%s", cmp, type_table[k].name);
        emit_alu(c, key, define(c, to, TY_PRED), a, b, REF_NONE, 0);
        return;
    }
    finish_setp(c, compare_lower(c, cmp, ftz, t, a, b), op, with,
                to->kind == OPD_PAIR ? &to->elements[0] : to,
                to->kind == OPD_PAIR ? &to->elements[1] : NULL);
}

static void set_pair(struct compiler *c, const char *cmp, bool ftz, enum type to, enum type t)
{
    enum type half = t == TY_F16X2 ? TY_F16 : TY_BF16;
    uint32_t a = use(c, opd(c, 1), TY_B32), b = use(c, opd(c, 2), TY_B32), halves[2];
    uint64_t one = to == TY_F16X2 ? 0x3c00 : to == TY_BF16X2 ? 0x3f80 : 0xffff;

    for (int i = 0; i < 2; i++) {
        uint32_t p =
            compare_lower(c, cmp, ftz, half, compare_half_of(c, a, i), compare_half_of(c, b, i));

        halves[i] = new_temp(c, TY_B32);
        emit_alu(c, "selp.b32", halves[i], const_ref(c, one, false), const_ref(c, 0, false), p, 0);
    }
    emit_alu(c, "pack.b32.b16", define(c, opd(c, 0), TY_B32), halves[0], halves[1], REF_NONE, 0);
}

static void lower_set(struct compiler *c)
{
    enum type to = mod_type(c), t = mod_type(c);
    const char *op = boolean(c), *cmp = comparison(c, t);
    bool ftz = mod(c, "ftz");
    uint32_t p, a, b, d;
    uint64_t one;

    want_operands(c, op ? 4 : 3, op ? 4 : 3);
    if (t == TY_F16X2 || t == TY_BF16X2) {
        if (op)
            refuse(c, "boolean operator on pairs");
        set_pair(c, cmp, ftz, to, t);
        return;
    }
    if (type_size(t) < 2 || type_class(to) == CLASS_DOUBLE)
        refuse(c, "type");
    a = use(c, opd(c, 1), t);
    b = use(c, opd(c, 2), t);
    p = compare_lower(c, cmp, ftz, t, a, b);
    if (op) {
        uint32_t combined = new_temp(c, TY_PRED);

        emit_alu(c, op, combined, p, use_pred(c, opd(c, 3)), REF_NONE, 0);
        p = combined;
    }
    one = to == TY_F32 ? 0x3f800000 : to == TY_F16 ? 0x3c00 : to == TY_BF16 ? 0x3f80 : UINT32_MAX;
    d = define(c, opd(c, 0), to);
    emit_alu(c, "selp.b32", d, const_ref(c, one, false), const_ref(c, 0, false), p, 0);
    define_done(c, opd(c, 0), to, d);
}

const struct lowering lower_compare[] = {
    {"setp", lower_setp},
    {"set", lower_set},
    {NULL, NULL},
};
