// SPDX-License-Identifier: BSD-3-Clause
// Double precision in all roundings, with NaN, infinities and subnormals, and its conversions.
#include "tests/ptx/floating.h"

static uint64_t rounded(int mode, char op, double x, double y, double z)
{
    volatile double u = x, v = y, w = z, r = 0;

    fesetround(mode);
    switch (op) {
    case 'a': r = u + v; break;
    case 's': r = u - v; break;
    case 'm': r = u * v; break;
    case 'd': r = u / v; break;
    case 'f': r = fma(u, v, w); break;
    case 'q': r = sqrt(u); break;
    }
    fesetround(FE_TONEAREST);
    return as_bits(r);
}

static uint64_t narrowed(int mode, double x)
{
    volatile double u = x;
    volatile float r;

    fesetround(mode);
    r = (float)u;
    fesetround(FE_TONEAREST);
    return f_bits(r);
}

static uint64_t from_integer(int mode, int64_t x, bool is_signed)
{
    volatile double r;
    volatile int64_t s = x;
    volatile uint64_t u = (uint64_t)x;

    fesetround(mode);
    if (is_signed)
        r = (double)s;
    else
        r = (double)u;
    fesetround(FE_TONEAREST);
    return as_bits(r);
}

static uint64_t minmax(double x, double y, bool max)
{
    if (x != x || y != y)
        return as_bits(x != x ? y : x);
    if (x == y)
        return as_bits(signbit(x) ? (max ? y : x) : (max ? x : y));
    return as_bits((x < y) == max ? y : x);
}

// Operands are taken with either sign on purpose.
#pragma GCC diagnostic ignored "-Wsign-compare"

#define CASES(X) \
    X(case_0, "add.rn.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RN, 'a', as_double(a), as_double(b), 0)) \
    X(case_1, "add.rz.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RZ, 'a', as_double(a), as_double(b), 0)) \
    X(case_2, "add.rm.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RM, 'a', as_double(a), as_double(b), 0)) \
    X(case_3, "add.rp.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RP, 'a', as_double(a), as_double(b), 0)) \
    X(case_4, "sub.rn.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RN, 's', as_double(a), as_double(b), 0)) \
    X(case_5, "sub.rz.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RZ, 's', as_double(a), as_double(b), 0)) \
    X(case_6, "sub.rm.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RM, 's', as_double(a), as_double(b), 0)) \
    X(case_7, "sub.rp.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RP, 's', as_double(a), as_double(b), 0)) \
    X(case_8, "mul.rn.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RN, 'm', as_double(a), as_double(b), 0)) \
    X(case_9, "mul.rz.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RZ, 'm', as_double(a), as_double(b), 0)) \
    X(case_10, "mul.rm.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RM, 'm', as_double(a), as_double(b), 0)) \
    X(case_11, "mul.rp.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RP, 'm', as_double(a), as_double(b), 0)) \
    X(case_12, "div.rn.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RN, 'd', as_double(a), as_double(b), 0)) \
    X(case_13, "div.rz.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RZ, 'd', as_double(a), as_double(b), 0)) \
    X(case_14, "div.rm.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RM, 'd', as_double(a), as_double(b), 0)) \
    X(case_15, "div.rp.f64 %d0, %d1, %d2;", F64, \
      rounded(FE_RP, 'd', as_double(a), as_double(b), 0)) \
    X(case_16, "fma.rn.f64 %d0, %d1, %d2, %d3;", F64, \
      rounded(FE_RN, 'f', as_double(a), as_double(b), as_double(c))) \
    X(case_17, "rcp.rn.f64 %d0, %d1;", F64, rounded(FE_RN, 'd', 1, as_double(a), 0)) \
    X(case_18, "sqrt.rn.f64 %d0, %d1;", F64, rounded(FE_RN, 'q', as_double(a), 0, 0)) \
    X(case_19, "cvt.rn.f32.f64 %f0, %d1;", F32, narrowed(FE_RN, as_double(a))) \
    X(case_20, "cvt.rn.f64.s32 %d0, %w1;", F64, from_integer(FE_RN, (int32_t)a, true)) \
    X(case_21, "cvt.rn.f64.u32 %d0, %w1;", F64, from_integer(FE_RN, (uint32_t)a, false)) \
    X(case_22, "cvt.rn.f64.s64 %d0, %l1;", F64, from_integer(FE_RN, (int64_t)a, true)) \
    X(case_23, "cvt.rn.f64.u64 %d0, %l1;", F64, from_integer(FE_RN, (uint64_t)a, false)) \
    X(case_24, "fma.rz.f64 %d0, %d1, %d2, %d3;", F64, \
      rounded(FE_RZ, 'f', as_double(a), as_double(b), as_double(c))) \
    X(case_25, "rcp.rz.f64 %d0, %d1;", F64, rounded(FE_RZ, 'd', 1, as_double(a), 0)) \
    X(case_26, "sqrt.rz.f64 %d0, %d1;", F64, rounded(FE_RZ, 'q', as_double(a), 0, 0)) \
    X(case_27, "cvt.rz.f32.f64 %f0, %d1;", F32, narrowed(FE_RZ, as_double(a))) \
    X(case_28, "cvt.rz.f64.s32 %d0, %w1;", F64, from_integer(FE_RZ, (int32_t)a, true)) \
    X(case_29, "cvt.rz.f64.u32 %d0, %w1;", F64, from_integer(FE_RZ, (uint32_t)a, false)) \
    X(case_30, "cvt.rz.f64.s64 %d0, %l1;", F64, from_integer(FE_RZ, (int64_t)a, true)) \
    X(case_31, "cvt.rz.f64.u64 %d0, %l1;", F64, from_integer(FE_RZ, (uint64_t)a, false)) \
    X(case_32, "fma.rm.f64 %d0, %d1, %d2, %d3;", F64, \
      rounded(FE_RM, 'f', as_double(a), as_double(b), as_double(c))) \
    X(case_33, "rcp.rm.f64 %d0, %d1;", F64, rounded(FE_RM, 'd', 1, as_double(a), 0)) \
    X(case_34, "sqrt.rm.f64 %d0, %d1;", F64, rounded(FE_RM, 'q', as_double(a), 0, 0)) \
    X(case_35, "cvt.rm.f32.f64 %f0, %d1;", F32, narrowed(FE_RM, as_double(a))) \
    X(case_36, "cvt.rm.f64.s32 %d0, %w1;", F64, from_integer(FE_RM, (int32_t)a, true)) \
    X(case_37, "cvt.rm.f64.u32 %d0, %w1;", F64, from_integer(FE_RM, (uint32_t)a, false)) \
    X(case_38, "cvt.rm.f64.s64 %d0, %l1;", F64, from_integer(FE_RM, (int64_t)a, true)) \
    X(case_39, "cvt.rm.f64.u64 %d0, %l1;", F64, from_integer(FE_RM, (uint64_t)a, false)) \
    X(case_40, "fma.rp.f64 %d0, %d1, %d2, %d3;", F64, \
      rounded(FE_RP, 'f', as_double(a), as_double(b), as_double(c))) \
    X(case_41, "rcp.rp.f64 %d0, %d1;", F64, rounded(FE_RP, 'd', 1, as_double(a), 0)) \
    X(case_42, "sqrt.rp.f64 %d0, %d1;", F64, rounded(FE_RP, 'q', as_double(a), 0, 0)) \
    X(case_43, "cvt.rp.f32.f64 %f0, %d1;", F32, narrowed(FE_RP, as_double(a))) \
    X(case_44, "cvt.rp.f64.s32 %d0, %w1;", F64, from_integer(FE_RP, (int32_t)a, true)) \
    X(case_45, "cvt.rp.f64.u32 %d0, %w1;", F64, from_integer(FE_RP, (uint32_t)a, false)) \
    X(case_46, "cvt.rp.f64.s64 %d0, %l1;", F64, from_integer(FE_RP, (int64_t)a, true)) \
    X(case_47, "cvt.rp.f64.u64 %d0, %l1;", F64, from_integer(FE_RP, (uint64_t)a, false)) \
    X(case_48, "cvt.rni.f64.f64 %d0, %d1;", F64, as_bits(integral(as_double(a), FE_RN))) \
    X(case_49, "cvt.rni.s8.f64 %h0, %d1;", HALF, \
      (int8_t)integer(as_double(a), FE_RN, 8, true, 64)) \
    X(case_50, "cvt.rni.u16.f64 %h0, %d1;", HALF, integer(as_double(a), FE_RN, 16, false, 64)) \
    X(case_51, "cvt.rni.s32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RN, 32, true, 64)) \
    X(case_52, "cvt.rni.u32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RN, 32, false, 64)) \
    X(case_53, "cvt.rni.s64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RN, 64, true, 64)) \
    X(case_54, "cvt.rni.u64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RN, 64, false, 64)) \
    X(case_55, "cvt.rzi.f64.f64 %d0, %d1;", F64, as_bits(integral(as_double(a), FE_RZ))) \
    X(case_56, "cvt.rzi.s8.f64 %h0, %d1;", HALF, \
      (int8_t)integer(as_double(a), FE_RZ, 8, true, 64)) \
    X(case_57, "cvt.rzi.u16.f64 %h0, %d1;", HALF, integer(as_double(a), FE_RZ, 16, false, 64)) \
    X(case_58, "cvt.rzi.s32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RZ, 32, true, 64)) \
    X(case_59, "cvt.rzi.u32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RZ, 32, false, 64)) \
    X(case_60, "cvt.rzi.s64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RZ, 64, true, 64)) \
    X(case_61, "cvt.rzi.u64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RZ, 64, false, 64)) \
    X(case_62, "cvt.rmi.f64.f64 %d0, %d1;", F64, as_bits(integral(as_double(a), FE_RM))) \
    X(case_63, "cvt.rmi.s8.f64 %h0, %d1;", HALF, \
      (int8_t)integer(as_double(a), FE_RM, 8, true, 64)) \
    X(case_64, "cvt.rmi.u16.f64 %h0, %d1;", HALF, integer(as_double(a), FE_RM, 16, false, 64)) \
    X(case_65, "cvt.rmi.s32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RM, 32, true, 64)) \
    X(case_66, "cvt.rmi.u32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RM, 32, false, 64)) \
    X(case_67, "cvt.rmi.s64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RM, 64, true, 64)) \
    X(case_68, "cvt.rmi.u64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RM, 64, false, 64)) \
    X(case_69, "cvt.rpi.f64.f64 %d0, %d1;", F64, as_bits(integral(as_double(a), FE_RP))) \
    X(case_70, "cvt.rpi.s8.f64 %h0, %d1;", HALF, \
      (int8_t)integer(as_double(a), FE_RP, 8, true, 64)) \
    X(case_71, "cvt.rpi.u16.f64 %h0, %d1;", HALF, integer(as_double(a), FE_RP, 16, false, 64)) \
    X(case_72, "cvt.rpi.s32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RP, 32, true, 64)) \
    X(case_73, "cvt.rpi.u32.f64 %w0, %d1;", WORD, integer(as_double(a), FE_RP, 32, false, 64)) \
    X(case_74, "cvt.rpi.s64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RP, 64, true, 64)) \
    X(case_75, "cvt.rpi.u64.f64 %l0, %d1;", LONG, integer(as_double(a), FE_RP, 64, false, 64)) \
    X(case_76, "abs.f64 %d0, %d1;", F64, as_bits(fabs(as_double(a)))) \
    X(case_77, "neg.f64 %d0, %d1;", F64, a ^ 1ull << 63) \
    X(case_78, "min.f64 %d0, %d1, %d2;", F64, minmax(as_double(a), as_double(b), false)) \
    X(case_79, "max.f64 %d0, %d1, %d2;", F64, minmax(as_double(a), as_double(b), true)) \
    X(case_80, "copysign.f64 %d0, %d1, %d2;", F64, (a & 1ull << 63) | (b & ~(1ull << 63))) \
    X(case_81, "setp.eq.f64 %p0, %d1, %d2;", PRED, as_double(a) == as_double(b)) \
    X(case_82, "setp.ne.f64 %p0, %d1, %d2;", PRED, \
      (as_double(a) == as_double(a) && as_double(b) == as_double(b)) && \
          as_double(a) != as_double(b)) \
    X(case_83, "setp.lt.f64 %p0, %d1, %d2;", PRED, as_double(a) < as_double(b)) \
    X(case_84, "setp.le.f64 %p0, %d1, %d2;", PRED, as_double(a) <= as_double(b)) \
    X(case_85, "setp.gt.f64 %p0, %d1, %d2;", PRED, as_double(a) > as_double(b)) \
    X(case_86, "setp.ge.f64 %p0, %d1, %d2;", PRED, as_double(a) >= as_double(b)) \
    X(case_87, "setp.equ.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b)) || \
          as_double(a) == as_double(b)) \
    X(case_88, "setp.neu.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b)) || \
          as_double(a) != as_double(b)) \
    X(case_89, "setp.ltu.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b)) || \
          as_double(a) < as_double(b)) \
    X(case_90, "setp.leu.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b)) || \
          as_double(a) <= as_double(b)) \
    X(case_91, "setp.gtu.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b)) || \
          as_double(a) > as_double(b)) \
    X(case_92, "setp.geu.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b)) || \
          as_double(a) >= as_double(b)) \
    X(case_93, "setp.num.f64 %p0, %d1, %d2;", PRED, \
      (as_double(a) == as_double(a) && as_double(b) == as_double(b))) \
    X(case_94, "setp.nan.f64 %p0, %d1, %d2;", PRED, \
      !(as_double(a) == as_double(a) && as_double(b) == as_double(b))) \
    X(case_95, "testp.finite.f64 %p0, %d1;", PRED, isfinite(as_double(a))) \
    X(case_96, "testp.infinite.f64 %p0, %d1;", PRED, isinf(as_double(a)) != 0) \
    X(case_97, "testp.number.f64 %p0, %d1;", PRED, !isnan(as_double(a))) \
    X(case_98, "testp.notanumber.f64 %p0, %d1;", PRED, isnan(as_double(a))) \
    X(case_99, "testp.normal.f64 %p0, %d1;", PRED, as_double(a) == 0 || isnormal(as_double(a))) \
    X(case_100, "testp.subnormal.f64 %p0, %d1;", PRED, fpclassify(as_double(a)) == FP_SUBNORMAL) \
    X(case_101, "cvt.rn.f16.f64 %h0, %d1;", HALF, \
      isnan(as_double(a)) ? 0x7e00 | (a >> 48 & 0x8000) : to_half(as_double(a), 10, 'n')) \
    X(case_102, "set.gtu.u32.f64 %w0, %d1, %d2;", WORD, !(as_double(a) <= as_double(b)) ? -1 : 0)

#define DEFINE(name, text, kind, value) VALUE(name, value)
CASES(DEFINE)

#define ROW(name, text, kind, value) {text, kind, name},
static const struct instruction_case cases[] = {CASES(ROW)};

int main(void)
{
    use_doubles();
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
    return done();
}
