// SPDX-License-Identifier: BSD-3-Clause
// Integer, logical and bit-field instructions and integer conversions, at their edges.
#include "tests/ptx/cases.h"

static int64_t sat32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
}

static uint64_t clamp(__int128 x, __int128 low, __int128 high)
{
    return (uint64_t)(x < low ? low : x > high ? high : x);
}

static int leading(uint64_t x, int width)
{
    int n = 0;

    while (n < width && !(x >> 63)) {
        x <<= 1;
        n++;
    }
    return n;
}

static uint64_t reverse(uint64_t x, int width)
{
    uint64_t r = 0;

    for (int i = 0; i < width; i++)
        r |= (x >> i & 1) << (width - 1 - i);
    return r;
}

static int highest(uint64_t x)
{
    int n = -1;

    for (; x; x >>= 1)
        n++;
    return n;
}

// Bit by bit, as the manual defines it: bits beyond the field are zero or its sign.
static uint64_t extract(uint64_t x, unsigned pos, unsigned len, unsigned width, bool is_signed)
{
    unsigned top = (uint64_t)pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
    uint64_t r = 0, sign = is_signed && len ? x >> top & 1 : 0;

    for (unsigned i = 0; i < width; i++) {
        uint64_t bit = i < len && (uint64_t)pos + i < width ? x >> (pos + i) & 1 : sign;

        r |= bit << i;
    }
    return r;
}

static uint64_t insert(uint64_t x, uint64_t into, unsigned pos, unsigned len, unsigned width)
{
    for (unsigned i = 0; i < len && (uint64_t)pos + i < width; i++) {
        into &= ~(1ull << (pos + i));
        into |= (x >> i & 1) << (pos + i);
    }
    return into;
}

static uint32_t table3(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint32_t r = 0;

    for (int i = 0; i < 32; i++)
        r |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1u) << i;
    return r;
}

static uint32_t bytes(uint64_t a, uint64_t b, uint64_t c)
{
    unsigned char from[8], to[4];
    uint32_t x = (uint32_t)a, y = (uint32_t)b, r;

    memcpy(from, &x, 4);
    memcpy(from + 4, &y, 4);
    for (int i = 0; i < 4; i++) {
        unsigned s = c >> 4 * i & 15;

        to[i] = s & 8 ? (from[s & 7] & 0x80 ? 0xff : 0) : from[s & 7];
    }
    memcpy(&r, to, 4);
    return r;
}

static uint32_t dot(uint64_t a, uint64_t b, uint64_t c, bool sa, bool sb)
{
    for (int i = 0; i < 32; i += 8) {
        int x = sa ? (int8_t)(a >> i) : (int)(uint8_t)(a >> i);
        int y = sb ? (int8_t)(b >> i) : (int)(uint8_t)(b >> i);

        c += (uint64_t)(int64_t)(x * y);
    }
    return (uint32_t)c;
}

static uint32_t relu16(uint64_t x)
{
    return x & 0x8000 ? 0 : (uint16_t)x;
}

// Byte by byte: absolute differences, their sum, averages, saturated sums.
static uint32_t parts(uint64_t a, uint64_t b, uint64_t c, char op)
{
    uint32_t r = 0;

    for (int k = 0; k < 32; k += 8) {
        int x = (uint8_t)(a >> k), y = (uint8_t)(b >> k), v = x < y ? y - x : x - y;

        if (op == 'a')
            v = (x + y + 1) / 2;
        if (op == 'p')
            v = x + y > 255 ? 255 : x + y;
        c += (unsigned)v;
        r |= (uint32_t)v << k;
    }
    return op == 's' ? (uint32_t)c : r;
}

static int nth(uint64_t mask, int n)
{
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && --n == 0)
            return i;
    return -1;
}

// Operands are taken with either sign on purpose.
#pragma GCC diagnostic ignored "-Wsign-compare"

#define CASES(X) \
    X(case_0, "add.u32 %w0, %w1, %w2;", WORD, a + b) \
    X(case_1, "sub.u32 %w0, %w1, %w2;", WORD, a - b) \
    X(case_2, "mul.lo.u32 %w0, %w1, %w2;", WORD, a *b) \
    X(case_3, "mul.hi.u32 %w0, %w1, %w2;", WORD, \
      ((unsigned __int128)(uint32_t)a * (unsigned __int128)(uint32_t)b) >> 32) \
    X(case_4, "mad.lo.u32 %w0, %w1, %w2, %w3;", WORD, a *b + c) \
    X(case_5, "mad.hi.u32 %w0, %w1, %w2, %w3;", WORD, \
      (((unsigned __int128)(uint32_t)a * (unsigned __int128)(uint32_t)b) >> 32) + \
          (unsigned __int128)(uint32_t)c) \
    X(case_6, "min.u32 %w0, %w1, %w2;", WORD, \
      (uint32_t)a < (uint32_t)b ? (uint32_t)a : (uint32_t)b) \
    X(case_7, "max.u32 %w0, %w1, %w2;", WORD, \
      (uint32_t)a > (uint32_t)b ? (uint32_t)a : (uint32_t)b) \
    X(case_8, "sad.u32 %w0, %w1, %w2, %w3;", WORD, \
      c + ((uint32_t)a < (uint32_t)b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b)) \
    X(case_9, "div.u32 %w0, %w1, %w2;", WORD, (uint32_t)b ? (uint32_t)a / (uint32_t)b : -1) \
    X(case_10, "rem.u32 %w0, %w1, %w2;", WORD, (uint32_t)b ? (uint32_t)a % (uint32_t)b : -1) \
    X(case_11, "shr.u32 %w0, %w1, %w2;", WORD, (uint32_t)b >= 32 ? 0 : (uint32_t)a >> (uint32_t)b) \
    X(case_12, "shl.b32 %w0, %w1, %w2;", WORD, (uint32_t)b >= 32 ? 0 : a << (uint32_t)b) \
    X(case_13, "and.b32 %w0, %w1, %w2;", WORD, a &b) \
    X(case_14, "or.b32 %w0, %w1, %w2;", WORD, a | b) \
    X(case_15, "xor.b32 %w0, %w1, %w2;", WORD, a ^ b) \
    X(case_16, "not.b32 %w0, %w1;", WORD, ~a) \
    X(case_17, "cnot.b32 %w0, %w1;", WORD, (uint32_t)a == 0) \
    X(case_18, "setp.lo.u32 %p0, %w1, %w2;", PRED, (uint32_t)a < (uint32_t)b) \
    X(case_19, "setp.ls.u32 %p0, %w1, %w2;", PRED, (uint32_t)a <= (uint32_t)b) \
    X(case_20, "setp.hi.u32 %p0, %w1, %w2;", PRED, (uint32_t)a > (uint32_t)b) \
    X(case_21, "setp.hs.u32 %p0, %w1, %w2;", PRED, (uint32_t)a >= (uint32_t)b) \
    X(case_22, "setp.eq.u32 %p0, %w1, %w2;", PRED, (uint32_t)a == (uint32_t)b) \
    X(case_23, "setp.ne.u32 %p0, %w1, %w2;", PRED, (uint32_t)a != (uint32_t)b) \
    X(case_24, "setp.lt.u32 %p0, %w1, %w2;", PRED, (uint32_t)a < (uint32_t)b) \
    X(case_25, "setp.le.u32 %p0, %w1, %w2;", PRED, (uint32_t)a <= (uint32_t)b) \
    X(case_26, "setp.gt.u32 %p0, %w1, %w2;", PRED, (uint32_t)a > (uint32_t)b) \
    X(case_27, "setp.ge.u32 %p0, %w1, %w2;", PRED, (uint32_t)a >= (uint32_t)b) \
    X(case_28, "add.s32 %w0, %w1, %w2;", WORD, a + b) \
    X(case_29, "sub.s32 %w0, %w1, %w2;", WORD, a - b) \
    X(case_30, "mul.lo.s32 %w0, %w1, %w2;", WORD, a *b) \
    X(case_31, "mul.hi.s32 %w0, %w1, %w2;", WORD, \
      ((__int128)(int32_t)a * (__int128)(int32_t)b) >> 32) \
    X(case_32, "mad.lo.s32 %w0, %w1, %w2, %w3;", WORD, a *b + c) \
    X(case_33, "mad.hi.s32 %w0, %w1, %w2, %w3;", WORD, \
      (((__int128)(int32_t)a * (__int128)(int32_t)b) >> 32) + (__int128)(int32_t)c) \
    X(case_34, "min.s32 %w0, %w1, %w2;", WORD, (int32_t)a < (int32_t)b ? (int32_t)a : (int32_t)b) \
    X(case_35, "max.s32 %w0, %w1, %w2;", WORD, (int32_t)a > (int32_t)b ? (int32_t)a : (int32_t)b) \
    X(case_36, "sad.s32 %w0, %w1, %w2, %w3;", WORD, \
      c + ((int32_t)a < (int32_t)b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b)) \
    X(case_37, "div.s32 %w0, %w1, %w2;", WORD, \
      (int32_t)b == -1 ? -a \
      : (int32_t)b     ? (int32_t)a / (int32_t)b \
                       : -1) \
    X(case_38, "rem.s32 %w0, %w1, %w2;", WORD, \
      (int32_t)b == -1 ? 0 \
      : (int32_t)b     ? (int32_t)a % (int32_t)b \
                       : -1) \
    X(case_39, "shr.s32 %w0, %w1, %w2;", WORD, \
      (int32_t)a >> ((uint32_t)b >= 32 ? 31 : (uint32_t)b)) \
    X(case_40, "abs.s32 %w0, %w1;", WORD, (int32_t)a < 0 ? -a : a) \
    X(case_41, "neg.s32 %w0, %w1;", WORD, -a) \
    X(case_42, "setp.eq.s32 %p0, %w1, %w2;", PRED, (int32_t)a == (int32_t)b) \
    X(case_43, "setp.ne.s32 %p0, %w1, %w2;", PRED, (int32_t)a != (int32_t)b) \
    X(case_44, "setp.lt.s32 %p0, %w1, %w2;", PRED, (int32_t)a < (int32_t)b) \
    X(case_45, "setp.le.s32 %p0, %w1, %w2;", PRED, (int32_t)a <= (int32_t)b) \
    X(case_46, "setp.gt.s32 %p0, %w1, %w2;", PRED, (int32_t)a > (int32_t)b) \
    X(case_47, "setp.ge.s32 %p0, %w1, %w2;", PRED, (int32_t)a >= (int32_t)b) \
    X(case_48, "add.u64 %l0, %l1, %l2;", LONG, a + b) \
    X(case_49, "sub.u64 %l0, %l1, %l2;", LONG, a - b) \
    X(case_50, "mul.lo.u64 %l0, %l1, %l2;", LONG, a *b) \
    X(case_51, "mul.hi.u64 %l0, %l1, %l2;", LONG, \
      ((unsigned __int128)(uint64_t)a * (unsigned __int128)(uint64_t)b) >> 64) \
    X(case_52, "mad.lo.u64 %l0, %l1, %l2, %l3;", LONG, a *b + c) \
    X(case_53, "mad.hi.u64 %l0, %l1, %l2, %l3;", LONG, \
      (((unsigned __int128)(uint64_t)a * (unsigned __int128)(uint64_t)b) >> 64) + \
          (unsigned __int128)(uint64_t)c) \
    X(case_54, "min.u64 %l0, %l1, %l2;", LONG, \
      (uint64_t)a < (uint64_t)b ? (uint64_t)a : (uint64_t)b) \
    X(case_55, "max.u64 %l0, %l1, %l2;", LONG, \
      (uint64_t)a > (uint64_t)b ? (uint64_t)a : (uint64_t)b) \
    X(case_56, "sad.u64 %l0, %l1, %l2, %l3;", LONG, \
      c + ((uint64_t)a < (uint64_t)b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b)) \
    X(case_57, "div.u64 %l0, %l1, %l2;", LONG, (uint64_t)b ? (uint64_t)a / (uint64_t)b : -1) \
    X(case_58, "rem.u64 %l0, %l1, %l2;", LONG, (uint64_t)b ? (uint64_t)a % (uint64_t)b : -1) \
    X(case_59, "shr.u64 %l0, %l1, %w2;", LONG, (uint32_t)b >= 64 ? 0 : (uint64_t)a >> (uint32_t)b) \
    X(case_60, "shl.b64 %l0, %l1, %w2;", LONG, (uint32_t)b >= 64 ? 0 : a << (uint32_t)b) \
    X(case_61, "and.b64 %l0, %l1, %l2;", LONG, a &b) \
    X(case_62, "or.b64 %l0, %l1, %l2;", LONG, a | b) \
    X(case_63, "xor.b64 %l0, %l1, %l2;", LONG, a ^ b) \
    X(case_64, "not.b64 %l0, %l1;", LONG, ~a) \
    X(case_65, "cnot.b64 %l0, %l1;", LONG, (uint64_t)a == 0) \
    X(case_66, "setp.lo.u64 %p0, %l1, %l2;", PRED, (uint64_t)a < (uint64_t)b) \
    X(case_67, "setp.ls.u64 %p0, %l1, %l2;", PRED, (uint64_t)a <= (uint64_t)b) \
    X(case_68, "setp.hi.u64 %p0, %l1, %l2;", PRED, (uint64_t)a > (uint64_t)b) \
    X(case_69, "setp.hs.u64 %p0, %l1, %l2;", PRED, (uint64_t)a >= (uint64_t)b) \
    X(case_70, "setp.eq.u64 %p0, %l1, %l2;", PRED, (uint64_t)a == (uint64_t)b) \
    X(case_71, "setp.ne.u64 %p0, %l1, %l2;", PRED, (uint64_t)a != (uint64_t)b) \
    X(case_72, "setp.lt.u64 %p0, %l1, %l2;", PRED, (uint64_t)a < (uint64_t)b) \
    X(case_73, "setp.le.u64 %p0, %l1, %l2;", PRED, (uint64_t)a <= (uint64_t)b) \
    X(case_74, "setp.gt.u64 %p0, %l1, %l2;", PRED, (uint64_t)a > (uint64_t)b) \
    X(case_75, "setp.ge.u64 %p0, %l1, %l2;", PRED, (uint64_t)a >= (uint64_t)b) \
    X(case_76, "add.s64 %l0, %l1, %l2;", LONG, a + b) \
    X(case_77, "sub.s64 %l0, %l1, %l2;", LONG, a - b) \
    X(case_78, "mul.lo.s64 %l0, %l1, %l2;", LONG, a *b) \
    X(case_79, "mul.hi.s64 %l0, %l1, %l2;", LONG, \
      ((__int128)(int64_t)a * (__int128)(int64_t)b) >> 64) \
    X(case_80, "mad.lo.s64 %l0, %l1, %l2, %l3;", LONG, a *b + c) \
    X(case_81, "mad.hi.s64 %l0, %l1, %l2, %l3;", LONG, \
      (((__int128)(int64_t)a * (__int128)(int64_t)b) >> 64) + (__int128)(int64_t)c) \
    X(case_82, "min.s64 %l0, %l1, %l2;", LONG, (int64_t)a < (int64_t)b ? (int64_t)a : (int64_t)b) \
    X(case_83, "max.s64 %l0, %l1, %l2;", LONG, (int64_t)a > (int64_t)b ? (int64_t)a : (int64_t)b) \
    X(case_84, "sad.s64 %l0, %l1, %l2, %l3;", LONG, \
      c + ((int64_t)a < (int64_t)b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b)) \
    X(case_85, "div.s64 %l0, %l1, %l2;", LONG, \
      (int64_t)b == -1 ? -a \
      : (int64_t)b     ? (int64_t)a / (int64_t)b \
                       : -1) \
    X(case_86, "rem.s64 %l0, %l1, %l2;", LONG, \
      (int64_t)b == -1 ? 0 \
      : (int64_t)b     ? (int64_t)a % (int64_t)b \
                       : -1) \
    X(case_87, "shr.s64 %l0, %l1, %w2;", LONG, \
      (int64_t)a >> ((uint32_t)b >= 64 ? 63 : (uint32_t)b)) \
    X(case_88, "abs.s64 %l0, %l1;", LONG, (int64_t)a < 0 ? -a : a) \
    X(case_89, "neg.s64 %l0, %l1;", LONG, -a) \
    X(case_90, "setp.eq.s64 %p0, %l1, %l2;", PRED, (int64_t)a == (int64_t)b) \
    X(case_91, "setp.ne.s64 %p0, %l1, %l2;", PRED, (int64_t)a != (int64_t)b) \
    X(case_92, "setp.lt.s64 %p0, %l1, %l2;", PRED, (int64_t)a < (int64_t)b) \
    X(case_93, "setp.le.s64 %p0, %l1, %l2;", PRED, (int64_t)a <= (int64_t)b) \
    X(case_94, "setp.gt.s64 %p0, %l1, %l2;", PRED, (int64_t)a > (int64_t)b) \
    X(case_95, "setp.ge.s64 %p0, %l1, %l2;", PRED, (int64_t)a >= (int64_t)b) \
    X(case_96, "add.u16 %h0, %h1, %h2;", HALF, a + b) \
    X(case_97, "sub.u16 %h0, %h1, %h2;", HALF, a - b) \
    X(case_98, "mul.lo.u16 %h0, %h1, %h2;", HALF, a *b) \
    X(case_99, "mul.hi.u16 %h0, %h1, %h2;", HALF, \
      ((unsigned __int128)(uint16_t)a * (unsigned __int128)(uint16_t)b) >> 16) \
    X(case_100, "mad.lo.u16 %h0, %h1, %h2, %h3;", HALF, a *b + c) \
    X(case_101, "mad.hi.u16 %h0, %h1, %h2, %h3;", HALF, \
      (((unsigned __int128)(uint16_t)a * (unsigned __int128)(uint16_t)b) >> 16) + \
          (unsigned __int128)(uint16_t)c) \
    X(case_102, "min.u16 %h0, %h1, %h2;", HALF, \
      (uint16_t)a < (uint16_t)b ? (uint16_t)a : (uint16_t)b) \
    X(case_103, "max.u16 %h0, %h1, %h2;", HALF, \
      (uint16_t)a > (uint16_t)b ? (uint16_t)a : (uint16_t)b) \
    X(case_104, "sad.u16 %h0, %h1, %h2, %h3;", HALF, \
      c + ((uint16_t)a < (uint16_t)b ? (uint16_t)b - (uint16_t)a : (uint16_t)a - (uint16_t)b)) \
    X(case_105, "div.u16 %h0, %h1, %h2;", HALF, (uint16_t)b ? (uint16_t)a / (uint16_t)b : -1) \
    X(case_106, "rem.u16 %h0, %h1, %h2;", HALF, (uint16_t)b ? (uint16_t)a % (uint16_t)b : -1) \
    X(case_107, "shr.u16 %h0, %h1, %w2;", HALF, \
      (uint32_t)b >= 16 ? 0 : (uint16_t)a >> (uint32_t)b) \
    X(case_108, "shl.b16 %h0, %h1, %w2;", HALF, (uint32_t)b >= 16 ? 0 : a << (uint32_t)b) \
    X(case_109, "and.b16 %h0, %h1, %h2;", HALF, a &b) \
    X(case_110, "or.b16 %h0, %h1, %h2;", HALF, a | b) \
    X(case_111, "xor.b16 %h0, %h1, %h2;", HALF, a ^ b) \
    X(case_112, "not.b16 %h0, %h1;", HALF, ~a) \
    X(case_113, "cnot.b16 %h0, %h1;", HALF, (uint16_t)a == 0) \
    X(case_114, "setp.lo.u16 %p0, %h1, %h2;", PRED, (uint16_t)a < (uint16_t)b) \
    X(case_115, "setp.ls.u16 %p0, %h1, %h2;", PRED, (uint16_t)a <= (uint16_t)b) \
    X(case_116, "setp.hi.u16 %p0, %h1, %h2;", PRED, (uint16_t)a > (uint16_t)b) \
    X(case_117, "setp.hs.u16 %p0, %h1, %h2;", PRED, (uint16_t)a >= (uint16_t)b) \
    X(case_118, "setp.eq.u16 %p0, %h1, %h2;", PRED, (uint16_t)a == (uint16_t)b) \
    X(case_119, "setp.ne.u16 %p0, %h1, %h2;", PRED, (uint16_t)a != (uint16_t)b) \
    X(case_120, "setp.lt.u16 %p0, %h1, %h2;", PRED, (uint16_t)a < (uint16_t)b) \
    X(case_121, "setp.le.u16 %p0, %h1, %h2;", PRED, (uint16_t)a <= (uint16_t)b) \
    X(case_122, "setp.gt.u16 %p0, %h1, %h2;", PRED, (uint16_t)a > (uint16_t)b) \
    X(case_123, "setp.ge.u16 %p0, %h1, %h2;", PRED, (uint16_t)a >= (uint16_t)b) \
    X(case_124, "add.s16 %h0, %h1, %h2;", HALF, a + b) \
    X(case_125, "sub.s16 %h0, %h1, %h2;", HALF, a - b) \
    X(case_126, "mul.lo.s16 %h0, %h1, %h2;", HALF, a *b) \
    X(case_127, "mul.hi.s16 %h0, %h1, %h2;", HALF, \
      ((__int128)(int16_t)a * (__int128)(int16_t)b) >> 16) \
    X(case_128, "mad.lo.s16 %h0, %h1, %h2, %h3;", HALF, a *b + c) \
    X(case_129, "mad.hi.s16 %h0, %h1, %h2, %h3;", HALF, \
      (((__int128)(int16_t)a * (__int128)(int16_t)b) >> 16) + (__int128)(int16_t)c) \
    X(case_130, "min.s16 %h0, %h1, %h2;", HALF, (int16_t)a < (int16_t)b ? (int16_t)a : (int16_t)b) \
    X(case_131, "max.s16 %h0, %h1, %h2;", HALF, (int16_t)a > (int16_t)b ? (int16_t)a : (int16_t)b) \
    X(case_132, "sad.s16 %h0, %h1, %h2, %h3;", HALF, \
      c + ((int16_t)a < (int16_t)b ? (uint16_t)b - (uint16_t)a : (uint16_t)a - (uint16_t)b)) \
    X(case_133, "div.s16 %h0, %h1, %h2;", HALF, \
      (int16_t)b == -1 ? -a \
      : (int16_t)b     ? (int16_t)a / (int16_t)b \
                       : -1) \
    X(case_134, "rem.s16 %h0, %h1, %h2;", HALF, \
      (int16_t)b == -1 ? 0 \
      : (int16_t)b     ? (int16_t)a % (int16_t)b \
                       : -1) \
    X(case_135, "shr.s16 %h0, %h1, %w2;", HALF, \
      (int16_t)a >> ((uint32_t)b >= 16 ? 15 : (uint32_t)b)) \
    X(case_136, "abs.s16 %h0, %h1;", HALF, (int16_t)a < 0 ? -a : a) \
    X(case_137, "neg.s16 %h0, %h1;", HALF, -a) \
    X(case_138, "setp.eq.s16 %p0, %h1, %h2;", PRED, (int16_t)a == (int16_t)b) \
    X(case_139, "setp.ne.s16 %p0, %h1, %h2;", PRED, (int16_t)a != (int16_t)b) \
    X(case_140, "setp.lt.s16 %p0, %h1, %h2;", PRED, (int16_t)a < (int16_t)b) \
    X(case_141, "setp.le.s16 %p0, %h1, %h2;", PRED, (int16_t)a <= (int16_t)b) \
    X(case_142, "setp.gt.s16 %p0, %h1, %h2;", PRED, (int16_t)a > (int16_t)b) \
    X(case_143, "setp.ge.s16 %p0, %h1, %h2;", PRED, (int16_t)a >= (int16_t)b) \
    X(case_144, "mul.wide.u16 %w0, %h1, %h2;", WORD, (uint32_t)(uint16_t)a *(uint16_t)b) \
    X(case_145, "mul.wide.s16 %w0, %h1, %h2;", WORD, (int16_t)a *(int16_t)b) \
    X(case_146, "mul.wide.u32 %l0, %w1, %w2;", LONG, (uint64_t)(uint32_t)a *(uint32_t)b) \
    X(case_147, "mul.wide.s32 %l0, %w1, %w2;", LONG, (int64_t)(int32_t)a *(int32_t)b) \
    X(case_148, "mad.wide.u32 %l0, %w1, %w2, %l3;", LONG, (uint64_t)(uint32_t)a *(uint32_t)b + c) \
    X(case_149, "mad.wide.s32 %l0, %w1, %w2, %l3;", LONG, \
      (uint64_t)((int64_t)(int32_t)a * (int32_t)b) + c) \
    X(case_150, "mad.wide.s16 %w0, %h1, %h2, %w3;", WORD, (uint32_t)((int16_t)a * (int16_t)b) + c) \
    X(case_151, "mul24.lo.u32 %w0, %w1, %w2;", WORD, (a & 0xffffff) * (b & 0xffffff)) \
    X(case_152, "mul24.hi.u32 %w0, %w1, %w2;", WORD, ((a & 0xffffff) * (b & 0xffffff)) >> 16) \
    X(case_153, "mul24.lo.s32 %w0, %w1, %w2;", WORD, \
      (int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8)) \
    X(case_154, "mul24.hi.s32 %w0, %w1, %w2;", WORD, \
      ((int64_t)((int32_t)(a << 8) >> 8) * ((int32_t)(b << 8) >> 8)) >> 16) \
    X(case_155, "mad24.lo.u32 %w0, %w1, %w2, %w3;", WORD, (a & 0xffffff) * (b & 0xffffff) + c) \
    X(case_156, "add.sat.s32 %w0, %w1, %w2;", WORD, sat32((int64_t)(int32_t)a + (int32_t)b)) \
    X(case_157, "sub.sat.s32 %w0, %w1, %w2;", WORD, sat32((int64_t)(int32_t)a - (int32_t)b)) \
    X(case_158, "mad.hi.sat.s32 %w0, %w1, %w2, %w3;", WORD, \
      sat32(((int64_t)(int32_t)a * (int32_t)b >> 32) + (int32_t)c)) \
    X(case_159, "popc.b32 %w0, %w1;", WORD, __builtin_popcount((uint32_t)a)) \
    X(case_160, "popc.b64 %w0, %l1;", WORD, __builtin_popcountll(a)) \
    X(case_161, "clz.b32 %w0, %w1;", WORD, leading(a << 32, 32)) \
    X(case_162, "clz.b64 %w0, %l1;", WORD, leading(a, 64)) \
    X(case_163, "brev.b32 %w0, %w1;", WORD, reverse(a, 32)) \
    X(case_164, "brev.b64 %l0, %l1;", LONG, reverse(a, 64)) \
    X(case_165, "bfind.u32 %w0, %w1;", WORD, highest((uint32_t)a)) \
    X(case_166, "bfind.s32 %w0, %w1;", WORD, highest((uint32_t)((int32_t)a < 0 ? ~a : a))) \
    X(case_167, "bfind.u64 %w0, %l1;", WORD, highest(a)) \
    X(case_168, "bfind.s64 %w0, %l1;", WORD, highest((int64_t)a < 0 ? ~a : a)) \
    X(case_169, "bfind.shiftamt.u32 %w0, %w1;", WORD, \
      (uint32_t)a ? 31 - highest((uint32_t)a) : -1) \
    X(case_170, "bfind.shiftamt.s64 %w0, %l1;", WORD, \
      highest((int64_t)a < 0 ? ~a : a) < 0 ? -1 : 63 - highest((int64_t)a < 0 ? ~a : a)) \
    X(case_171, "bfe.u32 %w0, %w1, %w2, %w3;", WORD, \
      extract((uint32_t)a, b & 255, c & 255, 32, false)) \
    X(case_172, "bfe.s32 %w0, %w1, %w2, %w3;", WORD, \
      extract((uint32_t)a, b & 255, c & 255, 32, true)) \
    X(case_173, "bfe.u64 %l0, %l1, %w2, %w3;", LONG, \
      extract(a, (uint32_t)b, (uint32_t)c, 64, false)) \
    X(case_174, "bfe.s64 %l0, %l1, %w2, %w3;", LONG, \
      extract(a, (uint32_t)b, (uint32_t)c, 64, true)) \
    X(case_175, "bfi.b32 %w0, %w1, %w2, %w3, 7;", WORD, insert(a, b, c & 255, 7, 32)) \
    X(case_176, "bfi.b32 %w0, %w1, %w2, 5, %w3;", WORD, insert(a, b, 5, c & 255, 32)) \
    X(case_177, "bfi.b64 %l0, %l1, %l2, %w3, 13;", LONG, insert(a, b, (uint32_t)c, 13, 64)) \
    X(case_178, "shf.l.wrap.b32 %w0, %w1, %w2, %w3;", WORD, \
      (b << 32 | (uint32_t)a) << (c & 31) >> 32) \
    X(case_179, "shf.r.wrap.b32 %w0, %w1, %w2, %w3;", WORD, (b << 32 | (uint32_t)a) >> (c & 31)) \
    X(case_180, "shf.l.clamp.b32 %w0, %w1, %w2, %w3;", WORD, \
      (uint32_t)c >= 32 ? a : (b << 32 | (uint32_t)a) << c % 32 >> 32) \
    X(case_181, "shf.r.clamp.b32 %w0, %w1, %w2, %w3;", WORD, \
      (uint32_t)c >= 32 ? b : (b << 32 | (uint32_t)a) >> c % 32) \
    X(case_182, "lop3.b32 %w0, %w1, %w2, %w3, 0x96;", WORD, a ^ b ^ c) \
    X(case_183, "lop3.b32 %w0, %w1, %w2, %w3, 0xE8;", WORD, (a & b) | (a & c) | (b & c)) \
    X(case_184, "lop3.b32 %w0, %w1, %w2, %w3, 0xCA;", WORD, (a & b) | (~a & c)) \
    X(case_185, "lop3.b32 %w0, %w1, %w2, %w3, 0x1D;", WORD, table3(a, b, c, 0x1d)) \
    X(case_186, "prmt.b32 %w0, %w1, %w2, %w3;", WORD, bytes(a, b, c)) \
    X(case_187, "prmt.b32.f4e %w0, %w1, %w2, %w3;", WORD, \
      ((b << 32) | (uint32_t)a) >> 8 * (c & 3)) \
    X(case_188, "prmt.b32.rc8 %w0, %w1, %w2, %w3;", WORD, \
      ((a >> 8 * (c & 3)) & 255) * 0x01010101u) \
    X(case_189, "prmt.b32.rc16 %w0, %w1, %w2, %w3;", WORD, \
      ((a >> 16 * (c & 1)) & 65535) * 0x00010001u) \
    X(case_190, "dp4a.u32.u32 %w0, %w1, %w2, %w3;", WORD, dot(a, b, c, false, false)) \
    X(case_191, "dp4a.s32.s32 %w0, %w1, %w2, %w3;", WORD, dot(a, b, c, true, true)) \
    X(case_192, "dp4a.s32.u32 %w0, %w1, %w2, %w3;", WORD, dot(a, b, c, true, false)) \
    X(case_193, "dp2a.lo.s32.s32 %w0, %w1, %w2, %w3;", WORD, \
      c + (uint32_t)((int16_t)a * (int8_t)b) + (uint32_t)((int16_t)(a >> 16) * (int8_t)(b >> 8))) \
    X(case_194, "dp2a.hi.u32.u32 %w0, %w1, %w2, %w3;", WORD, \
      c + (a & 65535) * (b >> 16 & 255) + (a >> 16 & 65535) * (b >> 24 & 255)) \
    X(case_195, "szext.clamp.s32 %w0, %w1, %w2;", WORD, \
      (uint32_t)b >= 32 ? a \
      : b & 31          ? (uint32_t)((int32_t)((uint32_t)a << (32 - (b & 31))) >> (32 - (b & 31))) \
                        : 0) \
    X(case_196, "bmsk.clamp.b32 %w0, 3, 5;", WORD, 0xf8) \
    X(case_197, "setp.lt.s32 %p1, %w3, 0; selp.b32 %w0, %w1, %w2, %p1;", WORD, \
      (int32_t)c < 0 ? a : b) \
    X(case_198, "setp.lt.s32 %p1, %w3, 0; selp.b64 %l0, %l1, %l2, !%p1;", LONG, \
      (int32_t)c < 0 ? b : a) \
    X(case_199, "slct.u32.s32 %w0, %w1, %w2, %w3;", WORD, (int32_t)c >= 0 ? a : b) \
    X(case_200, "slct.u64.s32 %l0, %l1, %l2, %w3;", LONG, (int32_t)c >= 0 ? a : b) \
    X(case_201, "set.lt.u32.s32 %w0, %w1, %w2;", WORD, (int32_t)a < (int32_t)b ? -1 : 0) \
    X(case_202, "set.ge.f32.u32 %f0, %w1, %w2;", F32, (uint32_t)a >= (uint32_t)b ? 0x3f800000 : 0) \
    X(case_203, "setp.ne.s32 %p1, %w3, 0; set.eq.and.u32.u32 %w0, %w1, %w2, %p1;", WORD, \
      (uint32_t)a == (uint32_t)b && (uint32_t)c ? -1 : 0) \
    X(case_204, "setp.ne.s32 %p1, %w3, 0; setp.lt.or.s32 %p0, %w1, %w2, %p1;", PRED, \
      (int32_t)a < (int32_t)b || (uint32_t)c) \
    X(case_205, "setp.ne.s32 %p1, %w3, 0; setp.lt.and.s32 %p2|%p0, %w1, %w2, !%p1;", PRED, \
      !((int32_t)a < (int32_t)b) && !(uint32_t)c) \
    X(case_206, "setp.lt.s32 %p2|%p0, %w1, %w2;", PRED, !((int32_t)a < (int32_t)b)) \
    X(case_207, "setp.ne.s32 %p1, %w3, 0; setp.gt.xor.u32 %p0, %w1, %w2, %p1;", PRED, \
      ((uint32_t)a > (uint32_t)b) ^ !!(uint32_t)c) \
    X(case_208, "add.cc.u32 %w4, %w1, %w2; addc.u32 %w0, %w3, 0;", WORD, \
      c + (((uint64_t)(uint32_t)a + (uint32_t)b) >> 32)) \
    X(case_209, \
      "{ .reg .b32 %x<4>; mov.b64 {%x0, %x1}, %l1; mov.b64 {%x2, %x3}, %l2; add.cc.u32 %x0, %x0, %x2; addc.cc.u32 %x1, %x1, %x3; addc.u32 %w5, 0, 0; mov.b64 %l0, {%x0, %x1}; }", \
      LONG, a + b) \
    X(case_210, \
      "{ .reg .b32 %x<4>; mov.b64 {%x0, %x1}, %l1; mov.b64 {%x2, %x3}, %l2; sub.cc.u32 %x0, %x0, %x2; subc.cc.u32 %x1, %x1, %x3; subc.u32 %w0, 0, 0; }", \
      WORD, a < b ? -1 : 0) \
    X(case_211, "add.cc.u64 %l4, %l1, %l2; addc.cc.u64 %l5, %l3, -1; addc.u64 %l0, 0, 0;", LONG, \
      (unsigned)(((unsigned __int128)c + UINT64_MAX + (a + b < a)) >> 64)) \
    X(case_212, "mad.lo.cc.u32 %w4, %w1, %w2, %w3; madc.hi.u32 %w0, %w1, %w2, 0;", WORD, \
      ((uint64_t)(uint32_t)a * (uint32_t)b + (uint32_t)c) >> 32) \
    X(case_add_16x2, "add.u16x2 %w0, %w1, %w2;", WORD, \
      ((a + b) & 0xffff) | ((a >> 16) + (b >> 16)) << 16) \
    X(case_min_s16x2, "min.s16x2 %w0, %w1, %w2;", WORD, \
      (uint16_t)((int16_t)a < (int16_t)b ? a : b) | \
          (uint32_t)((int16_t)(a >> 16) < (int16_t)(b >> 16) ? a : b) >> 16 << 16) \
    X(case_max_u16x2, "max.u16x2 %w0, %w1, %w2;", WORD, \
      (uint16_t)((uint16_t)a > (uint16_t)b ? a : b) | \
          (uint32_t)((uint16_t)(a >> 16) > (uint16_t)(b >> 16) ? a : b) >> 16 << 16) \
    X(case_min_relu, "min.relu.s16x2 %w0, %w1, %w2;", WORD, \
      relu16((int16_t)a < (int16_t)b ? a : b) | \
          relu16(((int16_t)(a >> 16) < (int16_t)(b >> 16) ? a : b) >> 16) << 16) \
    X(case_absdiff, "vabsdiff4.u32.u32.u32 %w0, %w1, %w2, 0;", WORD, parts(a, b, 0, 'd')) \
    X(case_absdiff_sum, "vabsdiff4.u32.u32.u32.add %w0, %w1, %w2, %w3;", WORD, \
      parts(a, b, c, 's')) \
    X(case_average, "vavrg4.u32.u32.u32 %w0, %w1, %w2, 0;", WORD, parts(a, b, 0, 'a')) \
    X(case_saturate, "vadd4.u32.u32.u32.sat %w0, %w1, %w2, 0;", WORD, parts(a, b, 0, 'p')) \
    X(case_borrow, "sub.cc.u32 %w4, %w1, %w2; addc.u32 %w0, 0, 0;", WORD, \
      (uint32_t)a >= (uint32_t)b) \
    X(case_borrow_64, "sub.cc.u64 %l4, %l1, %l2; subc.cc.u64 %l5, %l3, 0; addc.u64 %l0, 0, 0;", \
      LONG, c >= (a < b)) \
    X(case_213, "mov.b64 {%w4, %w5}, %l1; mov.b64 %l0, {%w5, %w4};", LONG, a << 32 | a >> 32) \
    X(case_214, "mov.b32 {%h4, %h5}, %w1; mov.b32 %w0, {%h5, %h4};", WORD, \
      a << 16 | (uint32_t)a >> 16) \
    X(case_215, "mov.b64 {%h4, %h5, %h6, %h7}, %l1; mov.b64 %l0, {%h7, %h6, %h5, %h4};", LONG, \
      (a << 48) | (a << 16 & 0xffff00000000) | (a >> 16 & 0xffff0000) | a >> 48) \
    X(case_216, "fns.b32 %w0, %w1, 0, 3;", WORD, nth(a, 3)) \
    X(case_217, "cvt.u8.u8 %h0, %h1;", HALF, (uint8_t)(uint8_t)a) \
    X(case_218, "cvt.u8.s8 %h0, %h1;", HALF, (uint8_t)(int8_t)a) \
    X(case_219, "cvt.u8.u16 %h0, %h1;", HALF, (uint8_t)(uint16_t)a) \
    X(case_220, "cvt.u8.s16 %h0, %h1;", HALF, (uint8_t)(int16_t)a) \
    X(case_221, "cvt.u8.u32 %h0, %w1;", HALF, (uint8_t)(uint32_t)a) \
    X(case_222, "cvt.u8.s32 %h0, %w1;", HALF, (uint8_t)(int32_t)a) \
    X(case_223, "cvt.sat.u8.s32 %h0, %w1;", HALF, clamp((int32_t)a, 0, 255)) \
    X(case_224, "cvt.u8.u64 %h0, %l1;", HALF, (uint8_t)(uint64_t)a) \
    X(case_225, "cvt.u8.s64 %h0, %l1;", HALF, (uint8_t)(int64_t)a) \
    X(case_226, "cvt.s8.u8 %h0, %h1;", HALF, (int8_t)(uint8_t)a) \
    X(case_227, "cvt.s8.s8 %h0, %h1;", HALF, (int8_t)(int8_t)a) \
    X(case_228, "cvt.s8.u16 %h0, %h1;", HALF, (int8_t)(uint16_t)a) \
    X(case_229, "cvt.s8.s16 %h0, %h1;", HALF, (int8_t)(int16_t)a) \
    X(case_230, "cvt.s8.u32 %h0, %w1;", HALF, (int8_t)(uint32_t)a) \
    X(case_231, "cvt.s8.s32 %h0, %w1;", HALF, (int8_t)(int32_t)a) \
    X(case_232, "cvt.sat.s8.s32 %h0, %w1;", HALF, clamp((int32_t)a, -128, 127)) \
    X(case_233, "cvt.s8.u64 %h0, %l1;", HALF, (int8_t)(uint64_t)a) \
    X(case_234, "cvt.s8.s64 %h0, %l1;", HALF, (int8_t)(int64_t)a) \
    X(case_235, "cvt.u16.u8 %h0, %h1;", HALF, (uint16_t)(uint8_t)a) \
    X(case_236, "cvt.u16.s8 %h0, %h1;", HALF, (uint16_t)(int8_t)a) \
    X(case_237, "cvt.u16.u16 %h0, %h1;", HALF, (uint16_t)(uint16_t)a) \
    X(case_238, "cvt.u16.s16 %h0, %h1;", HALF, (uint16_t)(int16_t)a) \
    X(case_239, "cvt.u16.u32 %h0, %w1;", HALF, (uint16_t)(uint32_t)a) \
    X(case_240, "cvt.u16.s32 %h0, %w1;", HALF, (uint16_t)(int32_t)a) \
    X(case_241, "cvt.u16.u64 %h0, %l1;", HALF, (uint16_t)(uint64_t)a) \
    X(case_242, "cvt.u16.s64 %h0, %l1;", HALF, (uint16_t)(int64_t)a) \
    X(case_243, "cvt.sat.u16.s64 %h0, %l1;", HALF, clamp((int64_t)a, 0, 65535)) \
    X(case_244, "cvt.s16.u8 %h0, %h1;", HALF, (int16_t)(uint8_t)a) \
    X(case_245, "cvt.s16.s8 %h0, %h1;", HALF, (int16_t)(int8_t)a) \
    X(case_246, "cvt.s16.u16 %h0, %h1;", HALF, (int16_t)(uint16_t)a) \
    X(case_247, "cvt.s16.s16 %h0, %h1;", HALF, (int16_t)(int16_t)a) \
    X(case_248, "cvt.s16.u32 %h0, %w1;", HALF, (int16_t)(uint32_t)a) \
    X(case_249, "cvt.s16.s32 %h0, %w1;", HALF, (int16_t)(int32_t)a) \
    X(case_250, "cvt.sat.s16.s32 %h0, %w1;", HALF, clamp((int32_t)a, -32768, 32767)) \
    X(case_251, "cvt.s16.u64 %h0, %l1;", HALF, (int16_t)(uint64_t)a) \
    X(case_252, "cvt.sat.s16.u64 %h0, %l1;", HALF, clamp((uint64_t)a, -32768, 32767)) \
    X(case_253, "cvt.s16.s64 %h0, %l1;", HALF, (int16_t)(int64_t)a) \
    X(case_254, "cvt.u32.u8 %w0, %h1;", WORD, (uint32_t)(uint8_t)a) \
    X(case_255, "cvt.u32.s8 %w0, %h1;", WORD, (uint32_t)(int8_t)a) \
    X(case_256, "cvt.u32.u16 %w0, %h1;", WORD, (uint32_t)(uint16_t)a) \
    X(case_257, "cvt.u32.s16 %w0, %h1;", WORD, (uint32_t)(int16_t)a) \
    X(case_258, "cvt.u32.u32 %w0, %w1;", WORD, (uint32_t)(uint32_t)a) \
    X(case_259, "cvt.u32.s32 %w0, %w1;", WORD, (uint32_t)(int32_t)a) \
    X(case_260, "cvt.sat.u32.s32 %w0, %w1;", WORD, clamp((int32_t)a, 0, 4294967295)) \
    X(case_261, "cvt.u32.u64 %w0, %l1;", WORD, (uint32_t)(uint64_t)a) \
    X(case_262, "cvt.u32.s64 %w0, %l1;", WORD, (uint32_t)(int64_t)a) \
    X(case_263, "cvt.sat.u32.s64 %w0, %l1;", WORD, clamp((int64_t)a, 0, 4294967295)) \
    X(case_264, "cvt.s32.u8 %w0, %h1;", WORD, (int32_t)(uint8_t)a) \
    X(case_265, "cvt.s32.s8 %w0, %h1;", WORD, (int32_t)(int8_t)a) \
    X(case_266, "cvt.s32.u16 %w0, %h1;", WORD, (int32_t)(uint16_t)a) \
    X(case_267, "cvt.s32.s16 %w0, %h1;", WORD, (int32_t)(int16_t)a) \
    X(case_268, "cvt.s32.u32 %w0, %w1;", WORD, (int32_t)(uint32_t)a) \
    X(case_269, "cvt.sat.s32.u32 %w0, %w1;", WORD, clamp((uint32_t)a, -2147483648, 2147483647)) \
    X(case_270, "cvt.s32.s32 %w0, %w1;", WORD, (int32_t)(int32_t)a) \
    X(case_271, "cvt.s32.u64 %w0, %l1;", WORD, (int32_t)(uint64_t)a) \
    X(case_272, "cvt.s32.s64 %w0, %l1;", WORD, (int32_t)(int64_t)a) \
    X(case_273, "cvt.sat.s32.s64 %w0, %l1;", WORD, clamp((int64_t)a, -2147483648, 2147483647)) \
    X(case_274, "cvt.u64.u8 %l0, %h1;", LONG, (uint64_t)(uint8_t)a) \
    X(case_275, "cvt.u64.s8 %l0, %h1;", LONG, (uint64_t)(int8_t)a) \
    X(case_276, "cvt.sat.u64.s8 %l0, %h1;", LONG, clamp((int8_t)a, 0, 18446744073709551615u)) \
    X(case_277, "cvt.u64.u16 %l0, %h1;", LONG, (uint64_t)(uint16_t)a) \
    X(case_278, "cvt.u64.s16 %l0, %h1;", LONG, (uint64_t)(int16_t)a) \
    X(case_279, "cvt.u64.u32 %l0, %w1;", LONG, (uint64_t)(uint32_t)a) \
    X(case_280, "cvt.u64.s32 %l0, %w1;", LONG, (uint64_t)(int32_t)a) \
    X(case_281, "cvt.u64.u64 %l0, %l1;", LONG, (uint64_t)(uint64_t)a) \
    X(case_282, "cvt.u64.s64 %l0, %l1;", LONG, (uint64_t)(int64_t)a) \
    X(case_283, "cvt.s64.u8 %l0, %h1;", LONG, (int64_t)(uint8_t)a) \
    X(case_284, "cvt.s64.s8 %l0, %h1;", LONG, (int64_t)(int8_t)a) \
    X(case_285, "cvt.s64.u16 %l0, %h1;", LONG, (int64_t)(uint16_t)a) \
    X(case_286, "cvt.s64.s16 %l0, %h1;", LONG, (int64_t)(int16_t)a) \
    X(case_287, "cvt.s64.u32 %l0, %w1;", LONG, (int64_t)(uint32_t)a) \
    X(case_288, "cvt.s64.s32 %l0, %w1;", LONG, (int64_t)(int32_t)a) \
    X(case_289, "cvt.s64.u64 %l0, %l1;", LONG, (int64_t)(uint64_t)a) \
    X(case_290, "cvt.sat.s64.u64 %l0, %l1;", LONG, \
      clamp((uint64_t)a, INT64_MIN, 9223372036854775807)) \
    X(case_291, "cvt.s64.s64 %l0, %l1;", LONG, (int64_t)(int64_t)a)

#define DEFINE(name, text, kind, value) VALUE(name, value)
CASES(DEFINE)

#define ROW(name, text, kind, value) {text, kind, name},
static const struct instruction_case cases[] = {CASES(ROW)};

int main(void)
{
    use_integers();
    check_cases(cases, sizeof(cases) / sizeof(cases[0]));
    return done();
}
