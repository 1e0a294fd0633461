// SPDX-License-Identifier: BSD-3-Clause
// CUPTI's queries of its version, results, devices, contexts and streams.
#include <stddef.h>

#include "client-lib/cupti/cupti_link.h"

extern const uint32_t
    cupti_release; // of the library that is stood in for (release_12.c, release_13.c)

CUPTI_EXPORT(cuptiGetVersion, uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = cupti_release;
    return CUPTI_SUCCESS;
}

static const struct {
    CUptiResult result;
    const char *name, *meaning;
} results[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS", "no error"},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER", "a parameter is not valid"},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION", "not now"},
    {CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY", "no memory"},
    {CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
     "a value does not fit"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED", "there are no more records"},
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED",
     "this process does not use rgpu's libcuda.so.1"},
    {CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY", "no number was pushed"},
    {CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND", "there is no such kind of record"},
    {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED", "remote GPUs are not asked for that"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "there is a subscriber already"},
    {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN", "an error that has no name"},
};

static CUptiResult text_of(CUptiResult result, bool meaning, const char **text)
{
    if (!text)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        if (results[i].result == result) {
            *text = meaning ? results[i].meaning : results[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT(cuptiGetResultString, CUptiResult result, const char **text)
{
    return text_of(result, false, text);
}

CUPTI_EXPORT(cuptiGetErrorMessage, CUptiResult result, const char **text)
{
    return text_of(result, true, text);
}

CUPTI_EXPORT(cuptiGetLastError, void)
{
    return CUPTI_SUCCESS;
}

// ---- ids of the program's objects in records ----

CUPTI_EXPORT(cuptiGetDeviceId, CUcontext context, uint32_t *number)
{
    CUresult (*device_of)(CUdevice *, CUcontext) = cupti_driver_function("cuCtxGetDevice_v2");
    CUdevice device;
    if (!number)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!device_of)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (device_of(&device, context) != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *number = (uint32_t)device;
    return CUPTI_SUCCESS;
}

// Makes CONTEXT current (NULL: the current one) for the query.
static CUptiResult numbers_in(CUcontext context, CUstream stream, uint32_t *of_stream,
                              uint32_t *of_context)
{
    const struct profiler_table *table = cupti_link();
    CUresult (*push)(CUcontext) = cupti_driver_function("cuCtxPushCurrent_v2");
    CUresult (*pop)(CUcontext *) = cupti_driver_function("cuCtxPopCurrent_v2");
    if (!table || !push || !pop)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (context && push(context) != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    bool known = table->numbers(stream, of_stream, of_context);
    if (context)
        pop(&context);
    return known ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT(cuptiGetStreamIdEx, CUcontext context, CUstream stream, uint8_t per_thread,
             uint32_t *number)
{
    uint32_t unused;
    if (!number)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!stream && per_thread)
        stream = CU_STREAM_PER_THREAD;
    return numbers_in(context, stream, number, &unused);
}

CUPTI_EXPORT(cuptiGetStreamId, CUcontext context, CUstream stream, uint32_t *number)
{
    uint32_t unused;
    return number ? numbers_in(context, stream, number, &unused) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT(cuptiGetContextId, CUcontext context, uint32_t *number)
{
    uint32_t unused;
    return number ? numbers_in(context, NULL, &unused, number) : CUPTI_ERROR_INVALID_PARAMETER;
}
