// SPDX-License-Identifier: BSD-3-Clause
// The common part of the tests of single and double precision: rounding modes, and reference
// conversions to integers and to 16-bit floats.
#ifndef RGPU_TESTS_PTX_FLOATING_H
#define RGPU_TESTS_PTX_FLOATING_H

#include <fenv.h>

#include "tests/ptx/cases.h"

enum { FE_RN = FE_TONEAREST, FE_RZ = FE_TOWARDZERO, FE_RM = FE_DOWNWARD, FE_RP = FE_UPWARD };

static inline double integral(double x, int mode)
{
    double r;

    fesetround(mode);
    r = nearbyint(x);
    fesetround(FE_TONEAREST);
    return r;
}

static inline uint64_t integer(double x, int mode, int width, bool is_signed, int from)
{
    double low = is_signed ? -ldexp(1, width - 1) : 0, high = ldexp(1, width - is_signed);

    if (x != x)
        return from == 64 || width == 64 ? 1ull << (width - 1) : 0;
    x = integral(x, mode);
    if (x < low)
        x = low;
    if (x >= high)
        return is_signed ? (1ull << (width - 1)) - 1 : ~0ull >> (64 - width);
    return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

// By search: the encoding of a 16-bit float that is nearest, or next towards zero.
static inline uint64_t to_half(double x, int mantissa, char mode)
{
    uint64_t sign = signbit(x) ? 0x8000 : 0, infinity = mantissa == 10 ? 0x7c00 : 0x7f80;
    uint64_t low = 0, high = infinity;
    double m = fabs(x);

    if (x != x)
        return 0x7fff;
    if (isinf(x))
        return sign | infinity;
#define VALUE_OF(h) \
    ((h) >> mantissa ? ldexp(1 + (double)((h) & ((1u << mantissa) - 1)) / (1 << mantissa), \
                             (int)((h) >> mantissa) - (mantissa == 10 ? 15 : 127)) \
                     : ldexp((double)(h), mantissa == 10 ? -24 : -133))
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;

        if (VALUE_OF(middle) <= m)
            low = middle;
        else
            high = middle;
    }
    if (mode == 'n') {
        double below = m - VALUE_OF(low), above = VALUE_OF(high) - m;

        if (above < below || (above == below && low & 1))
            low = high;
    }
    return sign | low;
}

#endif
