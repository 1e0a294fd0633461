// SPDX-License-Identifier: BSD-3-Clause
// Failures after which a context is of no more use.
#ifndef RGPU_COMMON_LOST_CONTEXT_H
#define RGPU_COMMON_LOST_CONTEXT_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Whether a call that gives this has found its context lost, as the driver's manual says.
bool result_loses_context(CUresult result);

#endif
