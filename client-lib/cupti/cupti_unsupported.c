// SPDX-License-Identifier: BSD-3-Clause
// Functions that remote GPUs do not support: counters, sampling, and other interfaces. They exist
// because a program that is linked with CUPTI does not start if a symbol is missing.
#include "client-lib/cupti/cupti_link.h"

#define UNSUPPORTED(name) \
    CUPTI_EXPORT(name, void) \
    { \
        return CUPTI_ERROR_NOT_SUPPORTED; \
    }
#include "client-lib/cupti/cupti_unsupported.h"
