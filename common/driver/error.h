// SPDX-License-Identifier: BSD-3-Clause
// Names and texts of results, as cuGetErrorName and cuGetErrorString return them.
#ifndef RGPU_COMMON_DRIVER_ERROR_H
#define RGPU_COMMON_DRIVER_ERROR_H

#include "proto/cuda_abi.h"

// Return constant strings; NULL for an unknown value.
const char *cuda_error_name(CUresult error);
const char *cuda_error_text(CUresult error);

// Implement the API functions: for an unknown value set *TEXT to NULL and return
// CUDA_ERROR_INVALID_VALUE.
CUresult cuda_error_get_name(CUresult error, const char **text);
CUresult cuda_error_get_text(CUresult error, const char **text);

#endif
