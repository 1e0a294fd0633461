// SPDX-License-Identifier: BSD-3-Clause
// Failures after which a context is of no more use.
#ifndef RGPU_COMMON_LOST_CONTEXT_H
#define RGPU_COMMON_LOST_CONTEXT_H

#include <stdbool.h>

#include "proto/cuda_abi.h"

// Returns true if RESULT means that the context is lost, by the driver's manual.
bool result_loses_context(CUresult result);

#endif
