// SPDX-License-Identifier: BSD-3-Clause
// Converts coordinates to texels and weights, in fixed point with 8 fractional bits as texture
// units do.
#include "sim/texture/footprint.h"

#include <math.h>

#define FRACTION 8
#define ONE (1 << FRACTION)
// Beyond the width of any texture; larger coordinates would overflow fixed point.
#define FAR 1e9
#define BELOW_ONE (1 - 0x1p-24)

static int32_t wrapped(int64_t i, int64_t extent)
{
    int64_t rest = i % extent;

    return (int32_t)(rest < 0 ? rest + extent : rest);
}

static int32_t clamped(int64_t i, int64_t extent)
{
    return (int32_t)(i < 0 ? 0 : i >= extent ? extent - 1 : i);
}

static int32_t mirrored(int64_t i, int64_t extent)
{
    int32_t rest = wrapped(i, 2 * extent);

    return rest < extent ? rest : (int32_t)(2 * extent - 1 - rest);
}

// Applies the address mode. Wrap and mirror modes need normalized coordinates.
static int32_t addressed(const struct texture *t, unsigned direction, int64_t i, unsigned extent)
{
    switch (t->modes[direction]) {
    case ADDRESS_WRAP:
        if (t->normalized)
            return wrapped(i, extent);
        break;
    case ADDRESS_MIRROR:
        if (t->normalized)
            return mirrored(i, extent);
        break;
    case ADDRESS_BORDER: return i < 0 || i >= (int64_t)extent ? -1 : (int32_t)i;
    case ADDRESS_CLAMP: break;
    }
    return clamped(i, extent);
}

// Rounds normalized coordinates to 21 bits, or to as many as a wide texture needs.
static double axis_cut(double x, unsigned extent)
{
    int bits = 21;

    while (extent > 1u << (bits - FRACTION))
        bits++;
    return ldexp(floor(ldexp(x, bits)), -bits);
}

// Returns a coordinate in texels. Reduces a periodic coordinate first, while floats are precise
// enough.
static double axis_in_texels(const struct texture *t, unsigned direction, float at, unsigned extent)
{
    double x = at;

    if (at != at)
        return 0;
    if (t->normalized) {
        bool edged = t->cube && t->seamless; // other faces adjoin the edges

        if (t->modes[direction] == ADDRESS_WRAP && !edged)
            x = isinf(at) ? 0 : fmin(x - floor(x), BELOW_ONE);
        else if (t->modes[direction] == ADDRESS_MIRROR && !edged)
            x = isinf(at) ? 0 : x - 2 * floor(x / 2);
        x = axis_cut(x, extent) * extent;
    }
    return x < -FAR ? -FAR : x > FAR ? FAR : x;
}

void axis_linear(struct footprint_axis *axis, const struct texture *t, unsigned direction, float at,
                 unsigned extent, int offset)
{
    int64_t fixed = (int64_t)floor(axis_in_texels(t, direction, at, extent) * ONE + 0.5) - ONE / 2;

    axis->low = (fixed >> FRACTION) + offset;
    axis->high = axis->low + 1;
    axis->weight = (int32_t)(fixed & (ONE - 1));
    axis->index[0] = addressed(t, direction, axis->low, extent);
    axis->index[1] = addressed(t, direction, axis->high, extent);
    if (axis->index[0] == axis->index[1] && !(t->cube && t->seamless))
        axis->weight = 0; // a single texel needs no rounding
}

void axis_texel(struct footprint_axis *axis, const struct texture *t, unsigned direction,
                int64_t at, unsigned extent)
{
    axis->low = axis->high = at;
    axis->weight = 0;
    axis->index[0] = axis->index[1] = addressed(t, direction, at, extent);
}

void axis_point(struct footprint_axis *axis, const struct texture *t, unsigned direction, float at,
                unsigned extent, int offset)
{
    axis_texel(axis, t, direction,
               (int64_t)floor(axis_in_texels(t, direction, at, extent)) + offset, extent);
}

void axis_index(struct footprint_axis *axis, int64_t at, unsigned extent)
{
    axis->low = axis->high = at;
    axis->weight = 0;
    axis->index[0] = axis->index[1] = at < 0 || at >= (int64_t)extent ? -1 : (int32_t)at;
}
