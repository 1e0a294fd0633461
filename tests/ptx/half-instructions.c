// SPDX-License-Identifier: BSD-3-Clause
// 16-bit floats, both kinds, alone and in pairs. Expected values come from arithmetic in double,
// rounded once by searching for the nearest encoding.
#include "tests/ptx/cases.h"

static double half_value(uint64_t h, int mantissa)
{
    uint64_t magnitude = h & 0x7fff, fraction = magnitude & ((1u << mantissa) - 1);
    int exponent = (int)(magnitude >> mantissa), bias = mantissa == 10 ? 15 : 127;
    double v = exponent ? ldexp(1 + (double)fraction / (1 << mantissa), exponent - bias)
                        : ldexp((double)fraction, 1 - bias - mantissa);

    if (exponent == 2 * bias + 1)
        v = fraction ? NAN : INFINITY;
    return h & 0x8000 ? -v : v;
}

static uint64_t half_bits(double x, int mantissa)
{
    uint64_t sign = signbit(x) ? 0x8000 : 0, infinity = mantissa == 10 ? 0x7c00 : 0x7f80;
    uint64_t low = 0, high = infinity;
    double m = fabs(x), limit = mantissa == 10 ? 65536 : 0x1p128;

    if (x != x)
        return 0x7fff;
    if (m >= limit)
        return sign | infinity;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;

        if (half_value(middle, mantissa) <= m)
            low = middle;
        else
            high = middle;
    }
    double above = (high == infinity ? limit : half_value(high, mantissa)) - m;
    double below = m - half_value(low, mantissa);
    if (above < below || (above == below && low & 1))
        low = high;
    return sign | low;
}

// a * b + c with what falls off the end of a double shown by a nudge that cannot be missed.
static double fused(double a, double b, double c)
{
    double product = a * b, sum = product + c, large = fabs(product) > fabs(c) ? product : c;
    double small = large == c ? product : c;

    if (sum != large || small == 0 || !isfinite(large))
        return sum;
    return large * (1 + ((small > 0) == (large > 0) ? 0x1p-50 : -0x1p-50));
}

static double pick(double x, double y, bool max)
{
    if (x != x || y != y)
        return x != x ? y : x;
    if (x == y)
        return signbit(x) == max ? y : x;
    return (x < y) == max ? y : x;
}

#define H(x) half_value((x)&0xffff, 10)
#define B(x) half_value((x)&0xffff, 7)
#define HIGH(x) ((x) >> 16)
#define PAIR(low, high) ((low) | (high) << 16)
#define ADD(V, n) half_bits(V(a) + V(b), n)
#define FMA(V, n) half_bits(fused(V(a), V(b), V(c)), n)
#define QUIET(V, h, bits) (V(h) != V(h) ? 0x7fff : (bits)&0xffff)
#define CASES(X) \
    X(add_h, "add.f16 %h0, %h1, %h2;", HALF, ADD(H, 10)) \
    X(add_rn, "add.rn.f16 %h0, %h1, %h2;", HALF, ADD(H, 10)) \
    X(sub_h, "sub.f16 %h0, %h1, %h2;", HALF, half_bits(H(a) - H(b), 10)) \
    X(mul_h, "mul.f16 %h0, %h1, %h2;", HALF, half_bits(H(a) * H(b), 10)) \
    X(fma_h, "fma.rn.f16 %h0, %h1, %h2, %h3;", HALF, FMA(H, 10)) \
    X(fma_relu, "fma.rn.relu.f16 %h0, %h1, %h2, %h3;", HALF, \
      H(a) * H(b) + H(c) <= 0 ? 0 : FMA(H, 10)) \
    X(sat_h, "add.sat.f16 %h0, %h1, %h2;", HALF, \
      H(a) + H(b) > 0 ? half_bits(fmin(H(a) + H(b), 1), 10) : 0) \
    X(min_h, "min.f16 %h0, %h1, %h2;", HALF, half_bits(pick(H(a), H(b), false), 10)) \
    X(max_h, "max.f16 %h0, %h1, %h2;", HALF, half_bits(pick(H(a), H(b), true), 10)) \
    X(max_nan, "max.NaN.f16 %h0, %h1, %h2;", HALF, \
      H(a) != H(a) || H(b) != H(b) ? 0x7fff : half_bits(pick(H(a), H(b), true), 10)) \
    X(neg_h, "neg.f16 %h0, %h1;", HALF, QUIET(H, a, a ^ 0x8000)) \
    X(abs_h, "abs.f16 %h0, %h1;", HALF, QUIET(H, a, a & 0x7fff)) \
    X(lt_h, "setp.lt.f16 %p0, %h1, %h2;", PRED, H(a) < H(b)) \
    X(neu_h, "setp.neu.f16 %p0, %h1, %h2;", PRED, H(a) != H(b)) \
    X(cvt_h, "cvt.f32.f16 %f0, %h1;", F32, H(a) != H(a) ? 0x7fffffff : f_bits((float)H(a))) \
    X(int_h, "cvt.rzi.s32.f16 %w0, %h1;", WORD, \
      H(a) != H(a)  ? 0 \
      : isinf(H(a)) ? (H(a) > 0 ? INT32_MAX : INT32_MIN) \
                    : (int32_t)H(a)) \
    X(half_int, "cvt.rn.f16.s32 %h0, %w1;", HALF, half_bits((double)(int32_t)a, 10)) \
    X(half_u64, "cvt.rn.f16.u64 %h0, %l1;", HALF, half_bits((double)a, 10)) \
    X(add_b, "add.rn.bf16 %h0, %h1, %h2;", HALF, ADD(B, 7)) \
    X(mul_b, "mul.rn.bf16 %h0, %h1, %h2;", HALF, half_bits(B(a) * B(b), 7)) \
    X(fma_b, "fma.rn.bf16 %h0, %h1, %h2, %h3;", HALF, FMA(B, 7)) \
    X(min_b, "min.bf16 %h0, %h1, %h2;", HALF, half_bits(pick(B(a), B(b), false), 7)) \
    X(cvt_b, "cvt.f32.bf16 %f0, %h1;", F32, a << 16) \
    X(add_2, "add.rn.f16x2 %w0, %w1, %w2;", WORD, \
      PAIR(ADD(H, 10), half_bits(H(HIGH(a)) + H(HIGH(b)), 10))) \
    X(fma_2, "fma.rn.f16x2 %w0, %w1, %w2, %w3;", WORD, \
      PAIR(FMA(H, 10), half_bits(fused(H(HIGH(a)), H(HIGH(b)), H(HIGH(c))), 10))) \
    X(fma_b2, "fma.rn.bf16x2 %w0, %w1, %w2, %w3;", WORD, \
      PAIR(FMA(B, 7), half_bits(fused(B(HIGH(a)), B(HIGH(b)), B(HIGH(c))), 7))) \
    X(neg_2, "neg.f16x2 %w0, %w1;", WORD, \
      PAIR(QUIET(H, a, a ^ 0x8000), QUIET(H, HIGH(a), HIGH(a) ^ 0x8000))) \
    X(setp_2, "setp.gt.f16x2 %p1|%p0, %w1, %w2;", PRED, H(HIGH(a)) > H(HIGH(b))) \
    X(set_2, "set.le.f16x2.f16x2 %w0, %w1, %w2;", WORD, \
      PAIR(H(a) <= H(b) ? 0x3c00 : 0, H(HIGH(a)) <= H(HIGH(b)) ? 0x3c00 : 0))

#define DEFINE(name, text, kind, value) VALUE(name, value)
CASES(DEFINE)
#define ROW(name, text, kind, value) {text, kind, name},
static const struct instruction_case cases[] = {CASES(ROW)};

int main(void)
{
    static const uint16_t values[] = {
        0,      0x8000, 0x3c00, 0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00,
        0xfc00, 0x7e00, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3555, 0x4248,
        0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7f7f, 0x0080, 0x4000,
    };
    size_t n = sizeof(values) / sizeof(values[0]);

    for (size_t i = 0; i < CASE_COUNT; i++)
        for (size_t k = 0; k < 3; k++) {
            uint64_t low = i < n * n ? values[k == 0   ? i % n
                                              : k == 1 ? i / n
                                                       : i * 5 % n]
                                     : case_random() & 0xffff;
            case_in[i][k] = low | (case_random() & 0xffff) << 16;
        }
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
    return done();
}
