// SPDX-License-Identifier: BSD-3-Clause
// Driver calls that this library does not support. Each returns an error. Its first call logs its
// name, with the reason that proto/cuda.spec gives for its group.
#ifndef RGPU_CLIENT_UNSUPPORTED_H
#define RGPU_CLIENT_UNSUPPORTED_H

#include <stdatomic.h>

#include "proto/cuda_abi.h"

// Logs NAME with the reason WHY unless *NAMED is set, sets *NAMED, and returns the error of the
// call.
CUresult unsupported_call(const char *name, const char *why, atomic_flag *named);

// Defines the exported call SYMBOL.
#define UNSUPPORTED(symbol, why) \
    __attribute__((visibility("default"))) CUresult symbol(void); \
    CUresult symbol(void) \
    { \
        static atomic_flag named = ATOMIC_FLAG_INIT; \
        return unsupported_call(#symbol, why, &named); \
    }

#endif
