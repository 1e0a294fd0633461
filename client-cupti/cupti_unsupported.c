// SPDX-License-Identifier: BSD-3-Clause
// Functions that remote GPUs do not serve: counters, sampling, what belongs to other interfaces. They are there
// since a program that was linked with CUPTI does not start where a name is missing.
#include "client-cupti/cupti_link.h"

#define UNSUPPORTED(name) \
    CUPTI_EXPORT(name, void) \
    { \
        return CUPTI_ERROR_NOT_SUPPORTED; \
    }
#include "client-cupti/cupti_unsupported.h"
