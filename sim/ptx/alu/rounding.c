// SPDX-License-Identifier: BSD-3-Clause
// Rare floating-point operations: rounding modes other than to nearest, and conversions that
// saturate, flush denormals, or round specially. Compiled with -frounding-math.
#include <fenv.h>
#include <math.h>

#include "sim/ptx/alu/alu.h"
#include "sim/ptx/alu/small_float.h"

static const int fe_modes[] = {
    [ROUND_RN] = FE_TONEAREST, [ROUND_RZ] = FE_TOWARDZERO, [ROUND_RM] = FE_DOWNWARD,
    [ROUND_RP] = FE_UPWARD,    [ROUND_RNA] = FE_TONEAREST,
};

#define ROUNDED_FUNCTION(name, T, FMA, SQRT) \
    static T name(uint32_t op, T a, T b, T c) \
    { \
        switch (op) { \
        case ROUNDED_ADD: return a + b; \
        case ROUNDED_SUB: return a - b; \
        case ROUNDED_MUL: return a * b; \
        case ROUNDED_FMA: return FMA(a, b, c); \
        case ROUNDED_DIV: return a / b; \
        case ROUNDED_RCP: return 1 / a; \
        case ROUNDED_SQRT: return SQRT(a); \
        } \
        return 0; \
    }
ROUNDED_FUNCTION(rounded_float, float, fmaf, sqrtf)
ROUNDED_FUNCTION(rounded_double, double, fma, sqrt)

static void round_f32(void *dv, const void *av, const void *bv, const void *cv, uint32_t imm)
{
    const float *a = av, *b = bv, *c = cv;
    float *d = dv;

    fesetround(fe_modes[imm >> 8 & 7]);
    for (int i = 0; i < LANES; i++) {
        float r = rounded_float(imm & 0xff, a[i], b[i], c[i]);

        d[i] = r == r ? r : bits_float(0x7fffffff);
    }
    fesetround(FE_TONEAREST);
}

static void round_f64(void *dv, const void *av, const void *bv, const void *cv, uint32_t imm)
{
    const double *a = av, *b = bv, *c = cv;
    double *d = dv;

    fesetround(fe_modes[imm >> 8 & 7]);
    for (int i = 0; i < LANES; i++)
        d[i] = rounded_double(imm & 0xff, a[i], b[i], c[i]);
    fesetround(FE_TONEAREST);
}

// A value during conversion: exact as an integer or as a double.
struct exact_value {
    bool is_float;
    bool is_negative; // for integers
    uint64_t magnitude;
    double real;
};

static struct exact_value load_value(const void *slots, int lane, enum type t)
{
    uint64_t bits = type_size(t) > 4 ? ((const uint64_t *)slots)[lane]
                                     : ((const uint32_t *)slots)[lane];
    unsigned width = 8 * type_size(t);
    struct exact_value v = {.is_float = type_kind(t) == 'f'};

    if (t == TY_F16)
        v.real = half_float((uint16_t)bits);
    else if (t == TY_BF16)
        v.real = bf16_float((uint16_t)bits);
    else if (t == TY_F32)
        v.real = bits_float((uint32_t)bits);
    else if (t == TY_F64)
        v.real = bits_double(bits);
    if (v.is_float)
        return v;
    if (width < 64)
        bits &= (1ull << width) - 1;
    v.is_negative = type_kind(t) == 's' && bits >> (width - 1) & 1;
    if (v.is_negative && width < 64)
        bits |= ~0ull << width;
    v.magnitude = v.is_negative ? 0 - bits : bits;
    return v;
}

static double round_integral(double x, enum rounding mode)
{
    switch (mode) {
    case ROUND_RN: return nearbyint(x);
    case ROUND_RZ: return trunc(x);
    case ROUND_RM: return floor(x);
    case ROUND_RP: return ceil(x);
    case ROUND_RNA: return round(x);
    }
    return x;
}

// Converts a float to an integer, saturating. NaN becomes 0, or the top bit if either type has 64
// bits.
static uint64_t real_integer(double x, enum type from, enum type to, enum rounding mode)
{
    unsigned width = 8 * type_size(to);
    bool is_signed = type_kind(to) == 's';
    double limit = ldexp(1, (int)width - is_signed);

    if (x != x)
        return from != TY_F64 && width != 64 ? 0 : 1ull << (width - 1);
    x = round_integral(x, mode);
    if (x >= limit)
        return is_signed ? (1ull << (width - 1)) - 1 : ~0ull >> (64 - width);
    if (is_signed)
        return x < -limit ? (uint64_t) - (1ll << (width - 2)) * 2 : (uint64_t)(int64_t)x;
    return x <= 0 ? 0 : (uint64_t)x;
}

static uint64_t integer_integer(struct exact_value v, enum type to, bool saturate)
{
    unsigned width = 8 * type_size(to);
    bool is_signed = type_kind(to) == 's';
    uint64_t top = ~0ull >> (64 - width + is_signed);

    if (saturate) {
        if (v.is_negative && !is_signed)
            return 0;
        if (v.is_negative && v.magnitude > top + 1)
            v.magnitude = top + 1;
        if (!v.is_negative && v.magnitude > top)
            v.magnitude = top;
    }
    return v.is_negative ? 0 - v.magnitude : v.magnitude;
}

static float to_float(struct exact_value v)
{
    volatile float f; // rounds here, in the current mode

    if (v.is_float)
        f = (float)v.real;
    else
        f = v.is_negative ? (float)(int64_t)(0 - v.magnitude) : (float)v.magnitude;
    return f;
}

static double to_double(struct exact_value v)
{
    volatile double f;

    if (v.is_float)
        f = v.real;
    else
        f = v.is_negative ? (double)(int64_t)(0 - v.magnitude) : (double)v.magnitude;
    return f;
}

static uint64_t to_real(struct exact_value v, enum type from, enum type to, enum rounding mode,
                        unsigned flags)
{
    if (v.is_float && flags & CONVERT_INTEGRAL)
        v.real = round_integral(v.real, mode);
    if (v.is_float && flags & CONVERT_SAT)
        v.real = v.real > 0 ? (v.real < 1 ? v.real : 1) : 0;
    if (v.is_float && flags & CONVERT_RELU && v.real <= 0)
        v.real = 0;
    if (to == TY_F64) {
        double r;

        fesetround(fe_modes[mode]);
        r = to_double(v);
        fesetround(FE_TONEAREST);
        return double_bits(r);
    }
    if (to == TY_F32) {
        float f;

        fesetround(fe_modes[mode]);
        f = to_float(v);
        fesetround(FE_TONEAREST);
        if (flags & CONVERT_FTZ && fabsf(f) < 0x1p-126f)
            f = copysignf(0, f);
        return f == f || from == TY_F64 || from == TY_BF16 ? float_bits(f) : 0x7fffffff;
    }
    if (to == TY_F16 && from == TY_F64 && v.real != v.real)
        return (double_bits(v.real) >> 48 & 0x8000) | 0x7e00 | (double_bits(v.real) >> 42 & 0x1ff);
    // A double may not represent a 64-bit integer exactly, but such values far exceed the small
    // types.
    return small_encode(to_double(v), to == TY_F16 ? 10 : 7, mode);
}

static void rounding_convert(void *dv, const void *av, const void *bv, const void *cv, uint32_t imm)
{
    enum type to = imm & 0xff, from = imm >> 8 & 0xff;
    enum rounding mode = imm >> 16 & 0xff;
    unsigned flags = imm >> 24;

    for (int i = 0; i < LANES; i++) {
        struct exact_value v = load_value(av, i, from);
        uint64_t bits;

        if (flags & CONVERT_FTZ && from == TY_F32 && fabs(v.real) < 0x1p-126)
            v.real = copysign(0, v.real);
        if (type_kind(to) == 'f')
            bits = to_real(v, from, to, mode, flags);
        else if (v.is_float)
            bits = real_integer(v.real, from, to, mode);
        else
            bits = integer_integer(v, to, flags & CONVERT_SAT);
        if (type_size(to) > 4) {
            ((uint64_t *)dv)[i] = bits;
            continue;
        }
        if (type_size(to) == 1)
            bits = type_kind(to) == 's' ? (uint64_t)(int64_t)(int8_t)bits : (uint8_t)bits;
        else if (type_size(to) == 2)
            bits = type_kind(to) == 's' ? (uint64_t)(int64_t)(int16_t)bits : (uint16_t)bits;
        ((uint32_t *)dv)[i] = (uint32_t)bits;
    }
}

const struct alu_row alu_rows_slow[] = {
    {"round.f32", round_f32, "wwww"},
    {"round.f64", round_f64, "dddd"},
    {"convert.ww", rounding_convert, "ww00"},
    {"convert.wd", rounding_convert, "wd00"},
    {"convert.dw", rounding_convert, "dw00"},
    {"convert.dd", rounding_convert, "dd00"},
    {NULL, NULL, ""},
};
