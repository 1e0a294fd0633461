// SPDX-License-Identifier: BSD-3-Clause
// A driver call that this library does not support. It returns an error, and logs its name once,
// with the reason that proto/cuda.spec gives for its group.
#ifndef RGPU_CLIENT_UNSUPPORTED_H
#define RGPU_CLIENT_UNSUPPORTED_H

#include <stdatomic.h>

#include "proto/cuda_abi.h"

CUresult unsupported_call(const char *name, const char *why, atomic_flag *named);

#define UNSUPPORTED(symbol, why) \
    __attribute__((visibility("default"))) CUresult symbol(void); \
    CUresult symbol(void) \
    { \
        static atomic_flag named = ATOMIC_FLAG_INIT; \
        return unsupported_call(#symbol, why, &named); \
    }

#endif
