// SPDX-License-Identifier: BSD-3-Clause
// All of NCCL's types on the host: the numbers 0, 1 and 2, which every type has, and the value of
// whatever came back.
#ifndef RGPU_TESTS_ALL_NUMBERS_H
#define RGPU_TESTS_ALL_NUMBERS_H

#include <math.h>

#include "proto/nccl_abi.h"
#include "tests/tap.h"

static const struct number_type {
    const char *name;
    size_t size;
    int exponent, fraction; // bits of floating point; 0: an integer
    uint64_t small[3];
} number_types[ncclNumTypes] = {
    [ncclInt8] = {"int8", 1, 0, 0, {0, 1, 2}},
    [ncclUint8] = {"uint8", 1, 0, 0, {0, 1, 2}},
    [ncclInt32] = {"int32", 4, 0, 0, {0, 1, 2}},
    [ncclUint32] = {"uint32", 4, 0, 0, {0, 1, 2}},
    [ncclInt64] = {"int64", 8, 0, 0, {0, 1, 2}},
    [ncclUint64] = {"uint64", 8, 0, 0, {0, 1, 2}},
    [ncclFloat16] = {"float16", 2, 5, 10, {0, 0x3c00, 0x4000}},
    [ncclFloat32] = {"float32", 4, 8, 23, {0, 0x3f800000, 0x40000000}},
    [ncclFloat64] = {"float64", 8, 11, 52, {0, 0x3ff0000000000000, 0x4000000000000000}},
    [ncclBfloat16] = {"bfloat16", 2, 8, 7, {0, 0x3f80, 0x4000}},
    [ncclFloat8e4m3] = {"float8e4m3", 1, 4, 3, {0, 0x38, 0x40}},
    [ncclFloat8e5m2] = {"float8e5m2", 1, 5, 2, {0, 0x3c, 0x40}},
};

static inline double number_value(const struct number_type *type, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, type->size);
    if (!type->exponent)
        return (double)bits;
    int bias = (1 << (type->exponent - 1)) - 1;
    int exponent = (int)(bits >> type->fraction) & ((1 << type->exponent) - 1);
    double fraction = (double)(bits & (((uint64_t)1 << type->fraction) - 1)) /
                      (double)((uint64_t)1 << type->fraction);
    return ldexp(exponent ? 1 + fraction : fraction, (exponent ? exponent : 1) - bias);
}

// Returns the allowed error of an average, whose parts are rounded.
static inline double number_tolerance(const struct number_type *type, double value)
{
    return type->exponent ? fabs(value) * ldexp(4, -type->fraction) : 0;
}

#endif
