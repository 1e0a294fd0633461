// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/putnotify/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver_prototypes.h"

static _Thread_local char text[320];

RGPU_PUBLIC const char *rgpu_error_text(void)
{
    return text;
}

enum rgpu_result failure(enum rgpu_result result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return result;
}

enum rgpu_result failure_of_driver(CUresult result, const char *call)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return RGPU_SUCCESS;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "an unknown error";
    return failure(result == CUDA_ERROR_OUT_OF_MEMORY ? RGPU_ERROR_MEMORY : RGPU_ERROR_CUDA,
                   "%.*s gave %s", (int)strcspn(call, "("), call, name);
}
