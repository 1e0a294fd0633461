// SPDX-License-Identifier: BSD-3-Clause
// Refusing the calls that are not carried (the functions themselves are generated).
#include "client-lib/api/unsupported.h"

#include "common/log.h"

CUresult unsupported_call(const char *name, atomic_flag *named)
{
    if (!atomic_flag_test_and_set(named))
        log_warn("call not supported name=%s", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}
