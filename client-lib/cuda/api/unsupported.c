// SPDX-License-Identifier: BSD-3-Clause
// Refuses the calls that rgpu does not support (the functions themselves are generated).
#include "client-lib/cuda/api/unsupported.h"

#include "client-lib/cuda/report/tell.h"
#include "common/base/log.h"

CUresult unsupported_call(const char *name, const char *why, atomic_flag *named)
{
    tell_once(
        "%s is not supported on remote GPUs, and was refused (%s); RGPU_LOG=warn names all such calls",
        name, why);
    if (!atomic_flag_test_and_set(named))
        log_warn("call not supported name=%s why=\"%s\"", name, why);
    return CUDA_ERROR_NOT_SUPPORTED;
}
