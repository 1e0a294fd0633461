// SPDX-License-Identifier: BSD-3-Clause
#ifndef RGPU_COMMON_LOST_CONTEXT_H
#define RGPU_COMMON_LOST_CONTEXT_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Returns true if, by the driver's manual, the context cannot be used after this result.
bool result_loses_context(CUresult result);

#endif
