// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/nccl/nccl_failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char text[320];

// With NCCL_DEBUG=WARN or a more detailed level, failures are logged where they happen.
static void nccl_failure_say(void)
{
    const char *debug = secure_getenv("NCCL_DEBUG");
    if (debug && strcasecmp(debug, "VERSION") && strcasecmp(debug, "NONE"))
        fprintf(stderr, "rgpu nccl: %s\n", text);
}

void nccl_tell(const char *format, ...)
{
    const char *debug = secure_getenv("NCCL_DEBUG");
    char line[320];
    va_list args;
    if (!debug || (strcasecmp(debug, "INFO") && strcasecmp(debug, "TRACE")))
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "rgpu nccl: %s\n", line);
}

ncclResult_t nccl_refuse(ncclResult_t result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    nccl_failure_say();
    return result;
}

ncclResult_t refuse_driver(CUresult result, const char *call)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return ncclSuccess;
    if (loaded.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "an unknown error";
    return nccl_refuse(ncclUnhandledCudaError, "%.*s gave %s", (int)strcspn(call, "("), call, name);
}

ncclResult_t refuse_team(enum rgpu_result result)
{
    static const ncclResult_t results[] = {
        [RGPU_SUCCESS] = ncclSuccess,
        [RGPU_ERROR_INVALID] = ncclInvalidArgument,
        [RGPU_ERROR_RANGE] = ncclInvalidArgument,
        [RGPU_ERROR_MEMORY] = ncclUnhandledCudaError,
        [RGPU_ERROR_BUSY] = ncclInternalError,
        [RGPU_ERROR_LOST] = ncclRemoteError,
        [RGPU_ERROR_NOT_SUPPORTED] = ncclInvalidUsage,
        [RGPU_ERROR_CUDA] = ncclUnhandledCudaError,
    };
    if (!result)
        return ncclSuccess;
    return nccl_refuse(results[result], "%s", loaded.rgpu_error_text());
}

const char *last_refusal(void)
{
    return text;
}
