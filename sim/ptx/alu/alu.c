// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on the 32 lanes of a warp: one function for each operation and type, generated from
// lists in alu_*.def. A function computes all lanes; the caller restores the values of inactive
// lanes. alu_v3.c compiles this file again for newer CPUs.
#include <stdbool.h>

#include "sim/ptx/alu/alu.h"
#include "sim/ptx/alu/small_float.h"

#ifndef ALU_TABLE
#define ALU_TABLE alu_rows_base
#endif

// Declare a lane of each type, in a register slot and in expressions.
#define IN_u8(p) const uint32_t *p##_ = p##v
#define IN_s8(p) const uint32_t *p##_ = p##v
#define IN_u16(p) const uint32_t *p##_ = p##v
#define IN_s16(p) const uint32_t *p##_ = p##v
#define IN_u32(p) const uint32_t *p##_ = p##v
#define IN_s32(p) const int32_t *p##_ = p##v
#define IN_u64(p) const uint64_t *p##_ = p##v
#define IN_s64(p) const int64_t *p##_ = p##v
#define IN_f32(p) const float *p##_ = p##v
#define IN_f64(p) const double *p##_ = p##v
#define IN_f16(p) const uint32_t *p##_ = p##v
#define IN_bf16(p) const uint32_t *p##_ = p##v
#define IN_prd(p) const uint32_t p##_ = *(const uint32_t *)p##v

#define GET_u8(p) (uint8_t) p##_[i]
#define GET_s8(p) (int8_t) p##_[i]
#define GET_u16(p) (uint16_t) p##_[i]
#define GET_s16(p) (int16_t) p##_[i]
#define GET_u32(p) p##_[i]
#define GET_s32(p) p##_[i]
#define GET_u64(p) p##_[i]
#define GET_s64(p) p##_[i]
#define GET_f32(p) p##_[i]
#define GET_f64(p) p##_[i]
#define GET_f16(p) half_float((uint16_t)p##_[i])
#define GET_bf16(p) bf16_float((uint16_t)p##_[i])
#define GET_prd(p) (p##_ >> i & 1)

#define C_u8 uint8_t
#define C_s8 int8_t
#define C_u16 uint16_t
#define C_s16 int16_t
#define C_u32 uint32_t
#define C_s32 int32_t
#define C_u64 uint64_t
#define C_s64 int64_t
#define C_f32 float
#define C_f64 double
#define C_f16 float
#define C_bf16 float
#define C_prd uint32_t

#define SLOT_u16 uint32_t
#define SLOT_s16 uint32_t
#define SLOT_u32 uint32_t
#define SLOT_s32 int32_t
#define SLOT_u64 uint64_t
#define SLOT_s64 int64_t
#define SLOT_f32 float
#define SLOT_f64 double
#define SLOT_f16 uint32_t
#define SLOT_bf16 uint32_t

#define PUT_u16(x) (uint32_t)(x)
#define PUT_s16(x) (uint32_t)(x)
#define PUT_u32(x) (uint32_t)(x)
#define PUT_s32(x) (int32_t)(x)
#define PUT_u64(x) (uint64_t)(x)
#define PUT_s64(x) (int64_t)(x)
#define PUT_f32(x) (x)
#define PUT_f64(x) (x)
#define PUT_f16(x) float_half(x)
#define PUT_bf16(x) float_bf16(x)

#define SIG_u8 'w'
#define SIG_s8 'w'
#define SIG_u16 'w'
#define SIG_s16 'w'
#define SIG_u32 'w'
#define SIG_s32 'w'
#define SIG_u64 'd'
#define SIG_s64 'd'
#define SIG_f32 'w'
#define SIG_f64 'd'
#define SIG_f16 'w'
#define SIG_bf16 'w'
#define SIG_prd 'p'

static inline float canon(float x)
{
    return x == x ? x : bits_float(0x7fffffff);
}

static inline float flush(float x)
{
    uint32_t u = float_bits(x);

    return bits_float(u & 0x7f800000 ? u : u & 0x80000000);
}

// Flushes a result that was subnormal before rounding, even if rounding made it normal.
static inline float flush_result(float r, float scaled)
{
    return flush(__builtin_fabsf(scaled) < 0x1p-102f ? 0 * r : r);
}

static inline double flush_double(double x)
{
    uint64_t u = double_bits(x);

    return bits_double(u & 0x7ff0000000000000ull ? u : u & 1ull << 63);
}

static inline uint32_t flush_small(uint32_t h, bool bf16)
{
    return h & (bf16 ? 0x7f80 : 0x7c00) ? h : h & 0x8000;
}

// Returns the smaller value. A NaN yields the other operand; -0 is below +0.
static inline float min_float(float a, float b)
{
    float m = a < b ? a : b;

    m = a == b ? bits_float(float_bits(a) | float_bits(b)) : m;
    m = a != a ? b : m;
    return b != b ? a : m;
}

static inline float max_float(float a, float b)
{
    float m = a > b ? a : b;

    m = a == b ? bits_float(float_bits(a) & float_bits(b)) : m;
    m = a != a ? b : m;
    return b != b ? a : m;
}

static inline double min_double(double a, double b)
{
    double m = a < b ? a : b;

    m = a == b ? bits_double(double_bits(a) | double_bits(b)) : m;
    m = a != a ? b : m;
    return b != b ? a : m;
}

static inline double max_double(double a, double b)
{
    double m = a > b ? a : b;

    m = a == b ? bits_double(double_bits(a) & double_bits(b)) : m;
    m = a != a ? b : m;
    return b != b ? a : m;
}

static inline uint32_t quiet_small(uint32_t h, uint32_t infinity, uint32_t value)
{
    return (h & 0x7fff) > infinity ? 0x7fff : value;
}

// Returns a * b + c for 16-bit floats. The product is exact in double, and the sum is rounded to
// odd, so that rounding it again equals rounding once.
static inline double fma_small(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, part = s - p, error = (p - (s - part)) + (c - part);
    uint64_t bits = double_bits(s);

    if (error == 0 || error != error || bits & 1 || __builtin_isinf(s))
        return s;
    return bits_double((error > 0) == (s > 0) ? bits + 1 : bits - 1);
}

static inline double relu(double x)
{
    return x > 0 || x != x ? x : 0;
}

static inline int32_t float_int(float x)
{
    if (x != x)
        return 0;
    return x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : (int32_t)x;
}

static inline int32_t double_int(double x)
{
    if (x != x)
        return INT32_MIN;
    return x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : (int32_t)x;
}

static inline int32_t saturate32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

static inline int64_t sext24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

static inline uint32_t reverse32(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

static inline uint32_t find_high(uint64_t x)
{
    return x ? 63 - (uint32_t)__builtin_clzll(x) : UINT32_MAX;
}

static inline uint32_t shift_amount(uint32_t position, uint32_t top)
{
    return position == UINT32_MAX ? position : top - position;
}

// Returns the offset-th set bit at or above base, or below it for a negative offset.
static inline uint32_t find_nth_set(uint32_t mask, uint32_t base, int32_t offset)
{
    int32_t step = offset < 0 ? -1 : 1, left = offset < 0 ? offset : offset - 1;

    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    left = offset < 0 ? -(offset + 1) : offset - 1;
    for (int32_t i = (int32_t)base; i >= 0 && i < 32; i += step)
        if (mask >> i & 1 && left-- == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

// Reduces positions and lengths modulo 256 for 32-bit fields; 64-bit fields use them in full.
static inline uint32_t field_count(uint32_t n, uint32_t width)
{
    return width == 32 ? n & 0xff : n;
}

static inline uint64_t field_u(uint64_t x, uint32_t pos, uint32_t len, uint32_t width)
{
    pos = field_count(pos, width);
    len = field_count(len, width);
    if (pos >= width || !len)
        return 0;
    x >>= pos;
    return len >= 64 ? x : x & ((1ull << len) - 1);
}

// Extracts a field of x, which is sign-extended to 64 bits; bits beyond the top are copies of the
// sign.
static inline uint64_t field_s(uint64_t x, uint32_t pos, uint32_t len, uint32_t width)
{
    pos = field_count(pos, width);
    len = field_count(len, width);
    if (!len)
        return 0;
    if (pos >= width)
        pos = width - 1;
    if (len > width - pos)
        len = width - pos;
    return (uint64_t)((int64_t)(x << (64 - pos - len)) >> (64 - len));
}

static inline uint64_t field_mask(uint32_t pos, uint32_t len, uint32_t width)
{
    uint64_t ones;

    pos = field_count(pos, width);
    len = field_count(len, width);
    ones = len >= 64 ? ~0ull : (1ull << len) - 1;
    return pos >= width ? 0 : ones << pos;
}

static inline uint32_t sign_extend(uint32_t x, uint32_t bits)
{
    return bits ? (uint32_t)((int32_t)(x << (32 - bits)) >> (32 - bits)) : 0;
}

static inline uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t n)
{
    return n == 32 ? low : (uint32_t)(((uint64_t)high << 32 | low) << n >> 32);
}

static inline uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t n)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> n);
}

static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;

    for (uint32_t k = 0; k < 8; k++) {
        uint32_t term = (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);

        r |= table >> k & 1 ? term : 0;
    }
    return r;
}

static inline uint32_t prmt_selector(uint32_t c, uint32_t mode)
{
    static const uint16_t f4e[4] = {0x3210, 0x4321, 0x5432, 0x6543};
    static const uint16_t b4e[4] = {0x5670, 0x6701, 0x7012, 0x0123};
    static const uint16_t rc8[4] = {0x0000, 0x1111, 0x2222, 0x3333};
    static const uint16_t ecl[4] = {0x3210, 0x3211, 0x3222, 0x3333};
    static const uint16_t ecr[4] = {0x0000, 0x1110, 0x2210, 0x3210};
    static const uint16_t rc16[4] = {0x1010, 0x3232, 0x1010, 0x3232};

    switch (mode) {
    case PRMT_F4E: return f4e[c & 3];
    case PRMT_B4E: return b4e[c & 3];
    case PRMT_RC8: return rc8[c & 3];
    case PRMT_ECL: return ecl[c & 3];
    case PRMT_ECR: return ecr[c & 3];
    case PRMT_RC16: return rc16[c & 1];
    }
    return c;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t selector = prmt_selector(c, mode), r = 0;

    for (int k = 0; k < 4; k++) {
        uint32_t s = selector >> 4 * k & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (s & 7)) & 0xff;

        if (s & 8 && mode == PRMT_INDEX)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << 8 * k;
    }
    return r;
}

static inline int32_t byte_of(uint32_t x, int k, bool is_signed)
{
    return is_signed ? (int8_t)(x >> 8 * k) : (int32_t)(uint8_t)(x >> 8 * k);
}

static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, uint32_t flags)
{
    for (int k = 0; k < 4; k++)
        c += (uint32_t)(byte_of(a, k, flags & DOT_A_SIGNED) * byte_of(b, k, flags & DOT_B_SIGNED));
    return c;
}

static inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, uint32_t flags)
{
    for (int k = 0; k < 2; k++) {
        int32_t half = flags & DOT_A_SIGNED ? (int16_t)(a >> 16 * k)
                                            : (int32_t)(uint16_t)(a >> 16 * k);
        c += (uint32_t)(half * byte_of(b, k + (flags & DOT_HIGH ? 2 : 0), flags & DOT_B_SIGNED));
    }
    return c;
}

static inline uint32_t halves(uint32_t a, uint32_t b, bool max, bool is_signed)
{
    uint32_t r = 0, flip = is_signed ? 0x8000 : 0;

    for (int k = 0; k < 32; k += 16) {
        uint32_t x = a >> k & 0xffff, y = b >> k & 0xffff;

        r |= (((x ^ flip) < (y ^ flip)) == max ? y : x) << k;
    }
    return r;
}

// Returns one part of a word as a number.
static inline int32_t video_part(uint32_t x, uint32_t k, uint32_t width, bool is_signed)
{
    uint32_t part = x >> k * width & ((1u << width) - 1);

    return is_signed && part >> (width - 1) ? (int32_t)part - (1 << width) : (int32_t)part;
}

static inline int32_t video_value(uint32_t op, int32_t x, int32_t y)
{
    switch (op) {
    case VIDEO_ADD: return x + y;
    case VIDEO_SUB: return x - y;
    case VIDEO_AVERAGE: return (x + y + (x + y >= 0)) >> 1;
    case VIDEO_ABSDIFF: return x < y ? y - x : x - y;
    case VIDEO_MIN: return x < y ? x : y;
    case VIDEO_MAX: return x > y ? x : y;
    }
    return 0;
}

static inline uint32_t video(uint32_t a, uint32_t b, uint32_t c, uint32_t imm)
{
    uint32_t op = imm & 0xff, parts = imm >> 8 & 0xff, flags = imm >> 16, width = 32 / parts;
    int32_t low = flags & VIDEO_D_SIGNED ? -(1 << (width - 1)) : 0;
    int32_t high = (1 << (width - !!(flags & VIDEO_D_SIGNED))) - 1;
    uint32_t r = 0;

    for (uint32_t k = 0; k < parts; k++) {
        int32_t v = video_value(op, video_part(a, k, width, flags & VIDEO_A_SIGNED),
                                video_part(b, k, width, flags & VIDEO_B_SIGNED));

        if (flags & VIDEO_SAT)
            v = v < low ? low : v > high ? high : v;
        if (flags & VIDEO_SUM)
            c += (uint32_t)v;
        else
            r |= ((uint32_t)v & ((1u << width) - 1)) << k * width;
    }
    return flags & VIDEO_SUM ? c : r;
}

#define FUNCTION(name) \
    static void name(void *dv, const void *av, const void *bv, const void *cv, uint32_t imm)
#define LANE_LOOP _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++)

#define OP1(name, key, D, A, value) \
    FUNCTION(name) \
    { \
        SLOT_##D *d_ = dv; \
        IN_##A(a); \
        LANE_LOOP \
        { \
            const C_##A a = GET_##A(a); \
            d_[i] = PUT_##D(value); \
        } \
    }
#define OP2(name, key, D, A, B, value) \
    FUNCTION(name) \
    { \
        SLOT_##D *d_ = dv; \
        IN_##A(a); \
        IN_##B(b); \
        LANE_LOOP \
        { \
            const C_##A a = GET_##A(a); \
            const C_##B b = GET_##B(b); \
            d_[i] = PUT_##D(value); \
        } \
    }
#define OP3(name, key, D, A, B, C, value) \
    FUNCTION(name) \
    { \
        SLOT_##D *d_ = dv; \
        IN_##A(a); \
        IN_##B(b); \
        IN_##C(c); \
        LANE_LOOP \
        { \
            const C_##A a = GET_##A(a); \
            const C_##B b = GET_##B(b); \
            const C_##C c = GET_##C(c); \
            d_[i] = PUT_##D(value); \
        } \
    }
// Defines operations on predicates, computed as whole masks.
#define OPP(name, key, value) \
    FUNCTION(name) \
    { \
        const uint32_t a = *(const uint32_t *)av, b = *(const uint32_t *)bv; \
        (void)b; \
        *(uint32_t *)dv = (value); \
    }
#define CMP(name, key, T, value) \
    FUNCTION(cmp_##name) \
    { \
        uint32_t mask = 0; \
        IN_##T(a); \
        IN_##T(b); \
        LANE_LOOP \
        { \
            const C_##T a = GET_##T(a); \
            const C_##T b = GET_##T(b); \
            (void)b; \
            mask |= (value) ? 1u << i : 0; \
        } \
        *(uint32_t *)dv = mask; \
    }
#define CMP3(name, key, T, value) \
    FUNCTION(cmp_##name) \
    { \
        uint32_t mask = 0; \
        IN_##T(a); \
        IN_##T(b); \
        IN_prd(c); \
        LANE_LOOP \
        { \
            const C_##T a = GET_##T(a); \
            const C_##T b = GET_##T(b); \
            const uint32_t c = GET_prd(c); \
            mask |= (value) ? 1u << i : 0; \
        } \
        *(uint32_t *)dv = mask; \
    }

#include "sim/ptx/alu/alu_integer.def"
#include "sim/ptx/alu/alu_float.def"

#define SCAN(name, T) \
    FUNCTION(name) \
    { \
        struct address_scan *s = dv; \
        const T *a = av; \
        const uint64_t offset = *(const uint64_t *)cv, first = a[0] + offset; \
        uint64_t low = UINT64_MAX, high = 0, any = 0, gaps = 0, spread = 0; \
        LANE_LOOP \
        { \
            const uint64_t x = a[i] + offset; \
            s->address[i] = x; \
            low = x < low ? x : low; \
            high = x > high ? x : high; \
            any |= x; \
            spread |= x ^ first; \
            gaps |= x ^ (first + (uint64_t)i * imm); \
        } \
        s->low = low; \
        s->high = high; \
        s->any = any; \
        s->gaps = gaps; \
        s->spread = spread; \
    }
SCAN(scan_b64, uint64_t)
SCAN(scan_b32, uint32_t)

#undef OP1
#undef OP2
#undef OP3
#undef OPP
#undef CMP
#undef CMP3
#define OP1(name, key, D, A, value) {key, name, {SIG_##D, SIG_##A, '0', '0'}},
#define OP2(name, key, D, A, B, value) {key, name, {SIG_##D, SIG_##A, SIG_##B, '0'}},
#define OP3(name, key, D, A, B, C, value) {key, name, {SIG_##D, SIG_##A, SIG_##B, SIG_##C}},
#define OPP(name, key, value) {key, name, {'p', 'p', 'p', '0'}},
#define CMP(name, key, T, value) {key, cmp_##name, {'p', SIG_##T, SIG_##T, '0'}},
#define CMP3(name, key, T, value) {key, cmp_##name, {'p', SIG_##T, SIG_##T, 'p'}},

const struct alu_row ALU_TABLE[] = {
#include "sim/ptx/alu/alu_integer.def"
#include "sim/ptx/alu/alu_float.def"
    {"scan.b64", scan_b64, "0d00"},
    {"scan.b32", scan_b32, "0w00"},
    {NULL, NULL, ""},
};
