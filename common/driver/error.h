// SPDX-License-Identifier: BSD-3-Clause
// Names and texts of results: what cuGetErrorName and cuGetErrorString answer.
#ifndef RGPU_COMMON_DRIVER_ERROR_H
#define RGPU_COMMON_DRIVER_ERROR_H

#include "proto/cuda_abi.h"

// Constant strings; NULL for a value that is no result.
const char *cuda_error_name(CUresult error);
const char *cuda_error_text(CUresult error);

// The two calls of the API: an unknown value sets *TEXT to NULL and gives
// CUDA_ERROR_INVALID_VALUE.
CUresult cuda_error_get_name(CUresult error, const char **text);
CUresult cuda_error_get_text(CUresult error, const char **text);

#endif
