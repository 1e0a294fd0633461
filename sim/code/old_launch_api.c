// SPDX-License-Identifier: BSD-3-Clause
// Implements the launch functions from before CUDA 4 (cuFuncSetBlockShape, cuLaunchGrid, ...) with
// cuLaunchKernel.
#include "common/base/scope.h"
#include "common/driver/old_launch.h"

#include "sim/engine/context.h"
#include "sim/code/launch.h"
#include "sim/code/module.h"

// Looks up a function of the current context. The caller calls function_put.
static CUresult old_launch_api_find_function(CUfunction handle, struct function **out)
{
    SCOPED_OBJECT struct function *function = NULL;
    struct context *context;
    SIM_TRY(context_require(&context));
    SIM_TRY(function_get(handle, &function));
    SIM_RETURN_IF(function->module->context != context, CUDA_ERROR_INVALID_HANDLE);
    *out = scoped_take(&function);
    return CUDA_SUCCESS;
}

SIM_API(cuFuncSetBlockShape, CUfunction handle, int x, int y, int z)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(old_launch_api_find_function(handle, &function));
    return old_launch_block(&function->old_launch, x, y, z);
}

SIM_API(cuFuncSetSharedSize, CUfunction handle, unsigned int bytes)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(old_launch_api_find_function(handle, &function));
    return old_launch_shared(&function->old_launch, bytes);
}

SIM_API(cuParamSetSize, CUfunction handle, unsigned int bytes)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(old_launch_api_find_function(handle, &function));
    return old_launch_size(&function->old_launch, bytes);
}

static CUresult old_launch_api_set_parameter(CUfunction handle, int offset, const void *value,
                                             unsigned int size)
{
    SCOPED_OBJECT struct function *function = NULL;
    SIM_TRY(old_launch_api_find_function(handle, &function));
    return old_launch_parameter(&function->old_launch, offset, value, size);
}

SIM_API(cuParamSeti, CUfunction handle, int offset, unsigned int value)
{
    return old_launch_api_set_parameter(handle, offset, &value, sizeof(value));
}

SIM_API(cuParamSetf, CUfunction handle, int offset, float value)
{
    return old_launch_api_set_parameter(handle, offset, &value, sizeof(value));
}

SIM_API(cuParamSetv, CUfunction handle, int offset, void *value, unsigned int size)
{
    return old_launch_api_set_parameter(handle, offset, value, size);
}

SIM_API(cuLaunchGridAsync, CUfunction handle, int width, int height, CUstream stream)
{
    struct old_launch_request request;
    struct function *function;
    SIM_TRY(old_launch_api_find_function(handle, &function));
    CUresult result = old_launch_make(&function->old_launch, width, height, stream, &request);
    // Bytes beyond the function's parameters are ignored.
    if (!result && request.bytes > function->info->param_bytes)
        request.bytes = function->info->param_bytes;
    function_put(function);
    SIM_TRY(result);
    return launch_configured(&request.config, handle, stream, NULL, request.extra);
}
