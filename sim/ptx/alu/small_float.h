// SPDX-License-Identifier: BSD-3-Clause
// Converts 16-bit floats to and from wider types, in any rounding mode.
#ifndef RGPU_SIM_PTX_SMALL_FLOAT_H
#define RGPU_SIM_PTX_SMALL_FLOAT_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

enum rounding { ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP, ROUND_RNA };

static inline uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static inline float bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint64_t double_bits(double f)
{
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}

static inline double bits_double(uint64_t u)
{
    double f;
    memcpy(&f, &u, 8);
    return f;
}

// Encodes a double as a 16-bit float with `mantissa` stored bits, rounding once. NaN becomes
// 0x7fff; overflow becomes infinity or the largest finite value, depending on the rounding mode.
static inline uint16_t small_encode(double x, int mantissa, enum rounding mode)
{
    int bias = mantissa == 10 ? 15 : 127;
    uint16_t infinity = (uint16_t)((mantissa == 10 ? 31u : 255u) << mantissa);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double magnitude = fabs(x), scaled, whole, rest;
    uint32_t bits;
    int exponent;

    if (x != x)
        return 0x7fff;
    if (magnitude == 0)
        return sign;
    if (isinf(x))
        return sign | infinity;
    exponent = ilogb(magnitude);
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    scaled = ldexp(magnitude, mantissa - exponent); // exact: in units of the last place
    if (exponent > bias + 1) {
        scaled = ldexp(4, mantissa);
        exponent = bias + 1;
    }
    whole = floor(scaled);
    rest = scaled - whole;
    switch (mode) {
    case ROUND_RN:
        if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0))
            whole += 1;
        break;
    case ROUND_RNA:
        if (rest >= 0.5)
            whole += 1;
        break;
    case ROUND_RZ: break;
    case ROUND_RM: whole += sign && rest > 0; break;
    case ROUND_RP: whole += !sign && rest > 0; break;
    }
    // A carry out of the mantissa correctly increments the exponent.
    bits = (uint32_t)((exponent + bias - 1) << mantissa) + (uint32_t)whole;
    if (bits >= infinity) {
        bool to_largest = mode == ROUND_RZ || (mode == ROUND_RM && !sign) ||
                          (mode == ROUND_RP && sign);
        bits = to_largest ? infinity - 1u : infinity;
    }
    return sign | (uint16_t)bits;
}

static inline float half_float(uint16_t h)
{
#ifdef __F16C__
    return _cvtsh_ss(h);
#else
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;

    if (exponent == 31)
        return bits_float(sign | 0x7f800000 | mantissa << 13);
    if (exponent)
        return bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
    float f = (float)mantissa * 0x1p-24f;
    return sign ? -f : f;
#endif
}

static inline uint16_t float_half(float f)
{
#ifdef __F16C__
    return f == f ? _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT) : 0x7fff;
#else
    return small_encode(f, 10, ROUND_RN);
#endif
}

static inline uint16_t double_half(double f)
{
    return small_encode(f, 10, ROUND_RN);
}

static inline float bf16_float(uint16_t h)
{
    return bits_float((uint32_t)h << 16);
}

static inline uint16_t float_bf16(float f)
{
    uint32_t u = float_bits(f);

    return f == f ? (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16) : 0x7fff;
}

static inline uint16_t double_bf16(double f)
{
    return small_encode(f, 7, ROUND_RN);
}

#endif
