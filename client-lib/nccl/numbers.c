// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/numbers.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    bool integer;
    int exponent, fraction; // bits of types that the kernels convert by hand
} types[ncclNumTypes] = {
    [ncclInt8] = {"int8", 1, true, 0, 0},
    [ncclUint8] = {"uint8", 1, true, 0, 0},
    [ncclInt32] = {"int32", 4, true, 0, 0},
    [ncclUint32] = {"uint32", 4, true, 0, 0},
    [ncclInt64] = {"int64", 8, true, 0, 0},
    [ncclUint64] = {"uint64", 8, true, 0, 0},
    [ncclFloat16] = {"float16", 2, false, 5, 10},
    [ncclFloat32] = {"float32", 4, false, 8, 23},
    [ncclFloat64] = {"float64", 8, false, 0, 0},
    [ncclBfloat16] = {"bfloat16", 2, false, 8, 7},
    [ncclFloat8e4m3] = {"float8e4m3", 1, false, 4, 3},
    [ncclFloat8e5m2] = {"float8e5m2", 1, false, 5, 2},
};
static const char *const combinings[COMBININGS] = {
    [COMBINE_SUM] = "sum",         [COMBINE_PRODUCT] = "product", [COMBINE_MAXIMUM] = "maximum",
    [COMBINE_MINIMUM] = "minimum", [COMBINE_SCALED] = "scaled",   [COMBINE_DIVIDED] = "divided",
};

bool number_type_is_known(ncclDataType_t type)
{
    return (unsigned int)type < ncclNumTypes;
}

size_t number_size(ncclDataType_t type)
{
    return types[type].size;
}

bool number_is_integer(ncclDataType_t type)
{
    return types[type].integer;
}

void number_kernel_name(ncclDataType_t type, enum combining combining, char *name)
{
    snprintf(name, 40, "%s_%s", combinings[combining], types[type].name);
}

// Returns 1 / SIZE, rounded to the nearest number, ties to even. It is a normal number in all of
// these types for up to 64 members.
static uint32_t narrow_inverse(int size, int exponent_bits, int fraction_bits)
{
    float wide = 1.0f / (float)size;
    uint32_t bits;
    int drop = 23 - fraction_bits;
    memcpy(&bits, &wide, sizeof(bits));
    uint32_t exponent = (bits >> 23) - 127 + (1u << (exponent_bits - 1)) - 1;
    uint32_t all = exponent << 23 | (bits & 0x7fffff);
    uint32_t half = drop ? 1u << (drop - 1) : 0, rest = all & ((1u << drop) - 1);
    uint32_t kept = all >> drop;
    return kept + (drop && (rest > half || (rest == half && kept & 1)));
}

void number_for_average(ncclDataType_t type, int size, void *number)
{
    int64_t whole = size;
    double inverse = 1.0 / size;
    uint32_t narrow = 0;
    if (types[type].integer) {
        memcpy(number, &whole, types[type].size);
    } else if (type == ncclFloat64) {
        memcpy(number, &inverse, sizeof(inverse));
    } else {
        narrow = narrow_inverse(size, types[type].exponent, types[type].fraction);
        memcpy(number, &narrow, types[type].size);
    }
}
