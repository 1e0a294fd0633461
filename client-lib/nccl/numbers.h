// SPDX-License-Identifier: BSD-3-Clause
// NCCL's number types and operations on them, for the kernels of combine_ptx.py.
#ifndef RGPU_NCCL_NUMBERS_H
#define RGPU_NCCL_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/nccl_abi.h"

// An operation on two numbers A and B.
enum combining {
    COMBINE_SUM,
    COMBINE_PRODUCT,
    COMBINE_MAXIMUM,
    COMBINE_MINIMUM,
    COMBINE_SCALED,  // A * B, with one B for all numbers
    COMBINE_DIVIDED, // A divided by the number of ranks, with one B for all numbers
    COMBININGS
};

enum { NUMBER_BYTES_MAX = 8 };

// The other functions require a known type.
bool number_type_is_known(ncclDataType_t type);
size_t number_size(ncclDataType_t type); // bytes
bool number_is_integer(ncclDataType_t type);
// Writes the name of the kernel for a type and an operation to NAME, an array of 40 bytes.
void number_kernel_name(ncclDataType_t type, enum combining combining, char *name);
// Writes the B of COMBINE_DIVIDED for SIZE ranks to NUMBER, number_size(TYPE) bytes: SIZE for
// integers, otherwise 1 / SIZE.
void number_for_average(ncclDataType_t type, int size, void *number);

#endif
