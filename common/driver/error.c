// SPDX-License-Identifier: BSD-3-Clause
// The table is in proto/abi/result.h.
#include "common/driver/error.h"

// clang-format off
#define NAME_CASE(name, value, text) case name: return #name;
#define TEXT_CASE(name, value, text) case name: return text;
// clang-format on

const char *cuda_error_name(CUresult error)
{
    switch (error) {
        RGPU_CUDA_RESULTS(NAME_CASE)
    }
    return NULL;
}

const char *cuda_error_text(CUresult error)
{
    switch (error) {
        RGPU_CUDA_RESULTS(TEXT_CASE)
    }
    return NULL;
}

static CUresult error_give(const char *found, const char **text)
{
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = found;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuda_error_get_name(CUresult error, const char **text)
{
    return error_give(cuda_error_name(error), text);
}

CUresult cuda_error_get_text(CUresult error, const char **text)
{
    return error_give(cuda_error_text(error), text);
}
