// SPDX-License-Identifier: BSD-3-Clause
// Single precision in all roundings, with NaN, infinities and subnormals, and its conversions.
#include "tests/ptx/floating.h"

static uint64_t canonical(uint64_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
}

static float flushf(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static uint64_t flushed(uint64_t bits)
{
    return canonical(f_bits(flushf(as_float(bits))));
}

static uint64_t saturated(uint64_t bits)
{
    float x = as_float(bits);

    return f_bits(x > 0 ? fminf(x, 1) : 0.0f);
}

static uint64_t rounded(int mode, char op, float x, float y, float z)
{
    volatile float u = x, v = y, w = z, r = 0;

    fesetround(mode);
    switch (op) {
    case 'a': r = u + v; break;
    case 's': r = u - v; break;
    case 'm': r = u * v; break;
    case 'd': r = u / v; break;
    case 'f': r = fmaf(u, v, w); break;
    case 'q': r = sqrtf(u); break;
    }
    fesetround(FE_TONEAREST);
    return canonical(f_bits(r));
}

// A product or fma that is flushed if it is subnormal before it is rounded.
static uint64_t rounded_flushed(int mode, char op, float x, float y, float z)
{
    double exact = op == 'm' ? (double)x * y : (double)x * y + z;
    uint64_t bits = rounded(mode, op, x, y, z);

    return fabs(exact) < 0x1p-126 ? bits & 0x80000000 : flushed(bits);
}

static uint64_t from_integer(int mode, __int128 x)
{
    volatile float r;
    volatile int64_t s = (int64_t)x;
    volatile uint64_t u = (uint64_t)x;

    fesetround(mode);
    if (x < 0)
        r = (float)s;
    else
        r = (float)u;
    fesetround(FE_TONEAREST);
    return f_bits(r);
}

static uint64_t minmax(float x, float y, bool max, bool nan)
{
    if (x != x || y != y)
        return nan || (x != x && y != y) ? 0x7fffffff : f_bits(x != x ? y : x);
    if (x == y)
        return f_bits(signbit(x) ? (max ? y : x) : (max ? x : y));
    return f_bits((x < y) == max ? y : x);
}

// Operands are taken with either sign on purpose.
#pragma GCC diagnostic ignored "-Wsign-compare"

#define CASES(X) \
    X(case_0, "add.rn.f32 %f0, %f1, %f2;", F32, rounded(FE_RN, 'a', as_float(a), as_float(b), 0)) \
    X(case_1, "add.rz.f32 %f0, %f1, %f2;", F32, rounded(FE_RZ, 'a', as_float(a), as_float(b), 0)) \
    X(case_2, "add.rm.f32 %f0, %f1, %f2;", F32, rounded(FE_RM, 'a', as_float(a), as_float(b), 0)) \
    X(case_3, "add.rp.f32 %f0, %f1, %f2;", F32, rounded(FE_RP, 'a', as_float(a), as_float(b), 0)) \
    X(case_4, "add.rn.ftz.f32 %f0, %f1, %f2;", F32, \
      flushed(rounded(FE_RN, 'a', flushf(as_float(a)), flushf(as_float(b)), 0))) \
    X(case_5, "sub.rn.f32 %f0, %f1, %f2;", F32, rounded(FE_RN, 's', as_float(a), as_float(b), 0)) \
    X(case_6, "sub.rz.f32 %f0, %f1, %f2;", F32, rounded(FE_RZ, 's', as_float(a), as_float(b), 0)) \
    X(case_7, "sub.rm.f32 %f0, %f1, %f2;", F32, rounded(FE_RM, 's', as_float(a), as_float(b), 0)) \
    X(case_8, "sub.rp.f32 %f0, %f1, %f2;", F32, rounded(FE_RP, 's', as_float(a), as_float(b), 0)) \
    X(case_9, "sub.rn.ftz.f32 %f0, %f1, %f2;", F32, \
      flushed(rounded(FE_RN, 's', flushf(as_float(a)), flushf(as_float(b)), 0))) \
    X(case_10, "mul.rn.f32 %f0, %f1, %f2;", F32, rounded(FE_RN, 'm', as_float(a), as_float(b), 0)) \
    X(case_11, "mul.rz.f32 %f0, %f1, %f2;", F32, rounded(FE_RZ, 'm', as_float(a), as_float(b), 0)) \
    X(case_12, "mul.rm.f32 %f0, %f1, %f2;", F32, rounded(FE_RM, 'm', as_float(a), as_float(b), 0)) \
    X(case_13, "mul.rp.f32 %f0, %f1, %f2;", F32, rounded(FE_RP, 'm', as_float(a), as_float(b), 0)) \
    X(case_14, "mul.rn.ftz.f32 %f0, %f1, %f2;", F32, \
      rounded_flushed(FE_RN, 'm', flushf(as_float(a)), flushf(as_float(b)), 0)) \
    X(case_15, "div.rn.f32 %f0, %f1, %f2;", F32, rounded(FE_RN, 'd', as_float(a), as_float(b), 0)) \
    X(case_16, "div.rz.f32 %f0, %f1, %f2;", F32, rounded(FE_RZ, 'd', as_float(a), as_float(b), 0)) \
    X(case_17, "div.rm.f32 %f0, %f1, %f2;", F32, rounded(FE_RM, 'd', as_float(a), as_float(b), 0)) \
    X(case_18, "div.rp.f32 %f0, %f1, %f2;", F32, rounded(FE_RP, 'd', as_float(a), as_float(b), 0)) \
    X(case_19, "div.rn.ftz.f32 %f0, %f1, %f2;", F32, \
      flushed(rounded(FE_RN, 'd', flushf(as_float(a)), flushf(as_float(b)), 0))) \
    X(case_20, "fma.rn.f32 %f0, %f1, %f2, %f3;", F32, \
      rounded(FE_RN, 'f', as_float(a), as_float(b), as_float(c))) \
    X(case_21, "rcp.rn.f32 %f0, %f1;", F32, rounded(FE_RN, 'd', 1, as_float(a), 0)) \
    X(case_22, "sqrt.rn.f32 %f0, %f1;", F32, rounded(FE_RN, 'q', as_float(a), 0, 0)) \
    X(case_23, "fma.rz.f32 %f0, %f1, %f2, %f3;", F32, \
      rounded(FE_RZ, 'f', as_float(a), as_float(b), as_float(c))) \
    X(case_24, "rcp.rz.f32 %f0, %f1;", F32, rounded(FE_RZ, 'd', 1, as_float(a), 0)) \
    X(case_25, "sqrt.rz.f32 %f0, %f1;", F32, rounded(FE_RZ, 'q', as_float(a), 0, 0)) \
    X(case_26, "fma.rm.f32 %f0, %f1, %f2, %f3;", F32, \
      rounded(FE_RM, 'f', as_float(a), as_float(b), as_float(c))) \
    X(case_27, "rcp.rm.f32 %f0, %f1;", F32, rounded(FE_RM, 'd', 1, as_float(a), 0)) \
    X(case_28, "sqrt.rm.f32 %f0, %f1;", F32, rounded(FE_RM, 'q', as_float(a), 0, 0)) \
    X(case_29, "fma.rp.f32 %f0, %f1, %f2, %f3;", F32, \
      rounded(FE_RP, 'f', as_float(a), as_float(b), as_float(c))) \
    X(case_30, "rcp.rp.f32 %f0, %f1;", F32, rounded(FE_RP, 'd', 1, as_float(a), 0)) \
    X(case_31, "sqrt.rp.f32 %f0, %f1;", F32, rounded(FE_RP, 'q', as_float(a), 0, 0)) \
    X(case_32, "fma.rn.ftz.f32 %f0, %f1, %f2, %f3;", F32, \
      rounded_flushed(FE_RN, 'f', flushf(as_float(a)), flushf(as_float(b)), flushf(as_float(c)))) \
    X(case_33, "fma.rz.ftz.sat.f32 %f0, %f1, %f2, %f3;", F32, \
      saturated(rounded_flushed(FE_RZ, 'f', flushf(as_float(a)), flushf(as_float(b)), \
                                flushf(as_float(c))))) \
    X(case_34, "add.sat.f32 %f0, %f1, %f2;", F32, \
      saturated(rounded(FE_RN, 'a', as_float(a), as_float(b), 0))) \
    X(case_35, "mul.ftz.sat.f32 %f0, %f1, %f2;", F32, \
      saturated(rounded_flushed(FE_RN, 'm', flushf(as_float(a)), flushf(as_float(b)), 0))) \
    X(case_36, "fma.rn.sat.f32 %f0, %f1, %f2, %f3;", F32, \
      saturated(rounded(FE_RN, 'f', as_float(a), as_float(b), as_float(c)))) \
    X(case_37, "mad.rn.f32 %f0, %f1, %f2, %f3;", F32, \
      rounded(FE_RN, 'f', as_float(a), as_float(b), as_float(c))) \
    X(case_38, "div.approx.f32 %f0, %f1, %f2;", F32, \
      rounded(FE_RN, 'd', as_float(a), as_float(b), 0)) \
    X(case_39, "div.full.ftz.f32 %f0, %f1, %f2;", F32, \
      flushed(rounded(FE_RN, 'd', flushf(as_float(a)), flushf(as_float(b)), 0))) \
    X(case_40, "abs.f32 %f0, %f1;", F32, canonical(f_bits(fabsf(as_float(a))))) \
    X(case_41, "neg.f32 %f0, %f1;", F32, canonical(a ^ 0x80000000)) \
    X(case_42, "abs.ftz.f32 %f0, %f1;", F32, flushed(canonical(a & 0x7fffffff))) \
    X(case_43, "min.f32 %f0, %f1, %f2;", F32, minmax(as_float(a), as_float(b), false, false)) \
    X(case_44, "max.f32 %f0, %f1, %f2;", F32, minmax(as_float(a), as_float(b), true, false)) \
    X(case_45, "min.NaN.f32 %f0, %f1, %f2;", F32, minmax(as_float(a), as_float(b), false, true)) \
    X(case_46, "max.NaN.f32 %f0, %f1, %f2;", F32, minmax(as_float(a), as_float(b), true, true)) \
    X(case_47, "min.ftz.f32 %f0, %f1, %f2;", F32, \
      minmax(flushf(as_float(a)), flushf(as_float(b)), false, false)) \
    X(case_48, "copysign.f32 %f0, %f1, %f2;", F32, (a & 0x80000000) | (b & 0x7fffffff)) \
    X(case_49, "setp.eq.f32 %p0, %f1, %f2;", PRED, as_float(a) == as_float(b)) \
    X(case_50, "setp.ne.f32 %p0, %f1, %f2;", PRED, \
      (as_float(a) == as_float(a) && as_float(b) == as_float(b)) && as_float(a) != as_float(b)) \
    X(case_51, "setp.lt.f32 %p0, %f1, %f2;", PRED, as_float(a) < as_float(b)) \
    X(case_52, "setp.le.f32 %p0, %f1, %f2;", PRED, as_float(a) <= as_float(b)) \
    X(case_53, "setp.gt.f32 %p0, %f1, %f2;", PRED, as_float(a) > as_float(b)) \
    X(case_54, "setp.ge.f32 %p0, %f1, %f2;", PRED, as_float(a) >= as_float(b)) \
    X(case_55, "setp.equ.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b)) || as_float(a) == as_float(b)) \
    X(case_56, "setp.neu.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b)) || as_float(a) != as_float(b)) \
    X(case_57, "setp.ltu.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b)) || as_float(a) < as_float(b)) \
    X(case_58, "setp.leu.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b)) || as_float(a) <= as_float(b)) \
    X(case_59, "setp.gtu.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b)) || as_float(a) > as_float(b)) \
    X(case_60, "setp.geu.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b)) || as_float(a) >= as_float(b)) \
    X(case_61, "setp.num.f32 %p0, %f1, %f2;", PRED, \
      (as_float(a) == as_float(a) && as_float(b) == as_float(b))) \
    X(case_62, "setp.nan.f32 %p0, %f1, %f2;", PRED, \
      !(as_float(a) == as_float(a) && as_float(b) == as_float(b))) \
    X(case_63, "setp.eq.ftz.f32 %p0, %f1, %f2;", PRED, flushf(as_float(a)) == flushf(as_float(b))) \
    X(case_64, "setp.lt.and.f32 %p2|%p0, %f1, %f2, 1;", PRED, !(as_float(a) < as_float(b))) \
    X(case_65, "set.ltu.f32.f32 %f0, %f1, %f2;", F32, \
      !(as_float(a) >= as_float(b)) ? 0x3f800000 : 0) \
    X(case_66, "slct.f32.f32 %f0, %f1, %f2, %f3;", F32, as_float(c) >= 0 ? a : b) \
    X(case_67, "testp.finite.f32 %p0, %f1;", PRED, isfinite(as_float(a))) \
    X(case_68, "testp.infinite.f32 %p0, %f1;", PRED, isinf(as_float(a)) != 0) \
    X(case_69, "testp.number.f32 %p0, %f1;", PRED, !isnan(as_float(a))) \
    X(case_70, "testp.notanumber.f32 %p0, %f1;", PRED, isnan(as_float(a))) \
    X(case_71, "testp.normal.f32 %p0, %f1;", PRED, as_float(a) == 0 || isnormal(as_float(a))) \
    X(case_72, "testp.subnormal.f32 %p0, %f1;", PRED, fpclassify(as_float(a)) == FP_SUBNORMAL) \
    X(case_73, "cvt.rni.s8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RN, 8, true, 32)) \
    X(case_74, "cvt.rzi.s8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RZ, 8, true, 32)) \
    X(case_75, "cvt.rmi.s8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RM, 8, true, 32)) \
    X(case_76, "cvt.rpi.s8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RP, 8, true, 32)) \
    X(case_77, "cvt.rni.u8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RN, 8, false, 32)) \
    X(case_78, "cvt.rzi.u8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RZ, 8, false, 32)) \
    X(case_79, "cvt.rmi.u8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RM, 8, false, 32)) \
    X(case_80, "cvt.rpi.u8.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RP, 8, false, 32)) \
    X(case_81, "cvt.rni.s16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RN, 16, true, 32)) \
    X(case_82, "cvt.rzi.s16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RZ, 16, true, 32)) \
    X(case_83, "cvt.rmi.s16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RM, 16, true, 32)) \
    X(case_84, "cvt.rpi.s16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RP, 16, true, 32)) \
    X(case_85, "cvt.rni.u16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RN, 16, false, 32)) \
    X(case_86, "cvt.rzi.u16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RZ, 16, false, 32)) \
    X(case_87, "cvt.rmi.u16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RM, 16, false, 32)) \
    X(case_88, "cvt.rpi.u16.f32 %h0, %f1;", HALF, integer(as_float(a), FE_RP, 16, false, 32)) \
    X(case_89, "cvt.rni.s32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RN, 32, true, 32)) \
    X(case_90, "cvt.rzi.s32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RZ, 32, true, 32)) \
    X(case_91, "cvt.rmi.s32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RM, 32, true, 32)) \
    X(case_92, "cvt.rpi.s32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RP, 32, true, 32)) \
    X(case_93, "cvt.rni.u32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RN, 32, false, 32)) \
    X(case_94, "cvt.rzi.u32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RZ, 32, false, 32)) \
    X(case_95, "cvt.rmi.u32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RM, 32, false, 32)) \
    X(case_96, "cvt.rpi.u32.f32 %w0, %f1;", WORD, integer(as_float(a), FE_RP, 32, false, 32)) \
    X(case_97, "cvt.rni.s64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RN, 64, true, 32)) \
    X(case_98, "cvt.rzi.s64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RZ, 64, true, 32)) \
    X(case_99, "cvt.rmi.s64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RM, 64, true, 32)) \
    X(case_100, "cvt.rpi.s64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RP, 64, true, 32)) \
    X(case_101, "cvt.rni.u64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RN, 64, false, 32)) \
    X(case_102, "cvt.rzi.u64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RZ, 64, false, 32)) \
    X(case_103, "cvt.rmi.u64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RM, 64, false, 32)) \
    X(case_104, "cvt.rpi.u64.f32 %l0, %f1;", LONG, integer(as_float(a), FE_RP, 64, false, 32)) \
    X(case_105, "cvt.rni.f32.f32 %f0, %f1;", F32, \
      canonical(f_bits((float)integral(as_float(a), FE_RN)))) \
    X(case_106, "cvt.rzi.f32.f32 %f0, %f1;", F32, \
      canonical(f_bits((float)integral(as_float(a), FE_RZ)))) \
    X(case_107, "cvt.rmi.f32.f32 %f0, %f1;", F32, \
      canonical(f_bits((float)integral(as_float(a), FE_RM)))) \
    X(case_108, "cvt.rpi.f32.f32 %f0, %f1;", F32, \
      canonical(f_bits((float)integral(as_float(a), FE_RP)))) \
    X(case_109, "cvt.sat.f32.f32 %f0, %f1;", F32, saturated(a)) \
    X(case_110, "cvt.ftz.f32.f32 %f0, %f1;", F32, canonical(f_bits(flushf(as_float(a))))) \
    X(case_111, "cvt.f64.f32 %d0, %f1;", F64, as_bits(as_float(a))) \
    X(case_112, "cvt.rn.f32.s32 %f0, %w1;", F32, from_integer(FE_RN, (int32_t)a)) \
    X(case_113, "cvt.rn.f32.u32 %f0, %w1;", F32, from_integer(FE_RN, (uint32_t)a)) \
    X(case_114, "cvt.rn.f32.s64 %f0, %l1;", F32, from_integer(FE_RN, (int64_t)a)) \
    X(case_115, "cvt.rn.f32.u64 %f0, %l1;", F32, from_integer(FE_RN, (uint64_t)a)) \
    X(case_116, "cvt.rn.f32.s16 %f0, %h1;", F32, from_integer(FE_RN, (int16_t)a)) \
    X(case_117, "cvt.rn.f32.u16 %f0, %h1;", F32, from_integer(FE_RN, (uint16_t)a)) \
    X(case_118, "cvt.rn.f32.s8 %f0, %h1;", F32, from_integer(FE_RN, (int8_t)a)) \
    X(case_119, "cvt.rn.f32.u8 %f0, %h1;", F32, from_integer(FE_RN, (uint8_t)a)) \
    X(case_120, "cvt.rz.f32.s32 %f0, %w1;", F32, from_integer(FE_RZ, (int32_t)a)) \
    X(case_121, "cvt.rz.f32.u32 %f0, %w1;", F32, from_integer(FE_RZ, (uint32_t)a)) \
    X(case_122, "cvt.rz.f32.s64 %f0, %l1;", F32, from_integer(FE_RZ, (int64_t)a)) \
    X(case_123, "cvt.rz.f32.u64 %f0, %l1;", F32, from_integer(FE_RZ, (uint64_t)a)) \
    X(case_124, "cvt.rz.f32.s16 %f0, %h1;", F32, from_integer(FE_RZ, (int16_t)a)) \
    X(case_125, "cvt.rz.f32.u16 %f0, %h1;", F32, from_integer(FE_RZ, (uint16_t)a)) \
    X(case_126, "cvt.rz.f32.s8 %f0, %h1;", F32, from_integer(FE_RZ, (int8_t)a)) \
    X(case_127, "cvt.rz.f32.u8 %f0, %h1;", F32, from_integer(FE_RZ, (uint8_t)a)) \
    X(case_128, "cvt.rm.f32.s32 %f0, %w1;", F32, from_integer(FE_RM, (int32_t)a)) \
    X(case_129, "cvt.rm.f32.u32 %f0, %w1;", F32, from_integer(FE_RM, (uint32_t)a)) \
    X(case_130, "cvt.rm.f32.s64 %f0, %l1;", F32, from_integer(FE_RM, (int64_t)a)) \
    X(case_131, "cvt.rm.f32.u64 %f0, %l1;", F32, from_integer(FE_RM, (uint64_t)a)) \
    X(case_132, "cvt.rm.f32.s16 %f0, %h1;", F32, from_integer(FE_RM, (int16_t)a)) \
    X(case_133, "cvt.rm.f32.u16 %f0, %h1;", F32, from_integer(FE_RM, (uint16_t)a)) \
    X(case_134, "cvt.rm.f32.s8 %f0, %h1;", F32, from_integer(FE_RM, (int8_t)a)) \
    X(case_135, "cvt.rm.f32.u8 %f0, %h1;", F32, from_integer(FE_RM, (uint8_t)a)) \
    X(case_136, "cvt.rp.f32.s32 %f0, %w1;", F32, from_integer(FE_RP, (int32_t)a)) \
    X(case_137, "cvt.rp.f32.u32 %f0, %w1;", F32, from_integer(FE_RP, (uint32_t)a)) \
    X(case_138, "cvt.rp.f32.s64 %f0, %l1;", F32, from_integer(FE_RP, (int64_t)a)) \
    X(case_139, "cvt.rp.f32.u64 %f0, %l1;", F32, from_integer(FE_RP, (uint64_t)a)) \
    X(case_140, "cvt.rp.f32.s16 %f0, %h1;", F32, from_integer(FE_RP, (int16_t)a)) \
    X(case_141, "cvt.rp.f32.u16 %f0, %h1;", F32, from_integer(FE_RP, (uint16_t)a)) \
    X(case_142, "cvt.rp.f32.s8 %f0, %h1;", F32, from_integer(FE_RP, (int8_t)a)) \
    X(case_143, "cvt.rp.f32.u8 %f0, %h1;", F32, from_integer(FE_RP, (uint8_t)a)) \
    X(case_144, "cvt.rn.f16.f32 %h0, %f1;", HALF, to_half(as_float(a), 10, 'n')) \
    X(case_145, "cvt.rz.f16.f32 %h0, %f1;", HALF, to_half(as_float(a), 10, 'z')) \
    X(case_146, "cvt.rn.bf16.f32 %h0, %f1;", HALF, to_half(as_float(a), 7, 'n')) \
    X(case_147, "cvt.rz.bf16.f32 %h0, %f1;", HALF, to_half(as_float(a), 7, 'z')) \
    X(case_148, "cvt.rn.relu.f16.f32 %h0, %f1;", HALF, \
      as_float(a) <= 0 ? 0 : to_half(as_float(a), 10, 'n')) \
    X(case_149, "cvt.rn.f16x2.f32 %w0, %f1, %f2;", WORD, \
      to_half(as_float(a), 10, 'n') << 16 | to_half(as_float(b), 10, 'n')) \
    X(case_150, "cvt.rn.bf16x2.f32 %w0, %f1, %f2;", WORD, \
      to_half(as_float(a), 7, 'n') << 16 | to_half(as_float(b), 7, 'n'))

#define DEFINE(name, text, kind, value) VALUE(name, value)
CASES(DEFINE)

#define ROW(name, text, kind, value) {text, kind, name},
static const struct instruction_case cases[] = {CASES(ROW)};

int main(void)
{
    use_floats();
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
    return done();
}
