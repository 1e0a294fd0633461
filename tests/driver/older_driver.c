// SPDX-License-Identifier: BSD-3-Clause
// Takes the place of the software GPU's function of this name in a library that has only the calls
// of an older driver (older-driver.map).
#include "proto/cuda_abi.h"

__attribute__((visibility("default"))) CUresult cuDriverGetVersion(int *version);

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = OLDER_DRIVER_VERSION;
    return CUDA_SUCCESS;
}
