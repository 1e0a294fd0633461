// SPDX-License-Identifier: BSD-3-Clause
// The calls of the Driver API as data: what each takes, and how it is made with arguments that come
// as words. The table is generated from proto/cuda.spec.
#ifndef RGPU_TESTS_ERRORS_CALL_H
#define RGPU_TESTS_ERRORS_CALL_H

#include "proto/cuda_abi.h"

enum kind { NUMBER, REAL, ENUMERATION, HANDLE, ADDRESS, DEVICE, POINTER, FUNCTION, STRUCTURE };

union argument {
    uint64_t word;
    float real;
};

enum { PARAMETERS_MAX = 17 };

struct parameter {
    const char *name;
    const char *base; // the type that its pointers lead to
    enum kind kind;
    unsigned pointers, size;
};

struct call {
    const char *name;
    CUresult (*make)(void *function, const union argument *arguments);
    unsigned count;
    struct parameter parameters[PARAMETERS_MAX];
};

extern const struct call calls[];
extern const unsigned call_count;

#endif
