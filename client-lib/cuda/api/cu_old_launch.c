// SPDX-License-Identifier: BSD-3-Clause
// Launch calls of CUDA before version 4, implemented by the present ones.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/work/launching.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/driver/old_launch.h"

// Finds the state that FUNCTION keeps for the old launch calls. There must be a current context.
static CUresult cu_old_launch_find_state(CUfunction function, struct old_launch ***out)
{
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct object *object = object_find(HANDLE_FUNCTION, function);
    if (!object || (object->context && object->context != context->ctx.root))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = &object->function.old_launch;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    struct old_launch **state;
    CUresult result = cu_old_launch_find_state(hfunc, &state);
    return result == CUDA_SUCCESS ? old_launch_block(state, x, y, z) : result;
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    struct old_launch **state;
    CUresult result = cu_old_launch_find_state(hfunc, &state);
    return result == CUDA_SUCCESS ? old_launch_shared(state, bytes) : result;
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    struct old_launch **state;
    CUresult result = cu_old_launch_find_state(hfunc, &state);
    return result == CUDA_SUCCESS ? old_launch_size(state, numbytes) : result;
}

static CUresult cu_old_launch_set_parameter(CUfunction function, int offset, const void *value,
                                            unsigned int size)
{
    struct old_launch **state;
    CUresult result = cu_old_launch_find_state(function, &state);
    return result == CUDA_SUCCESS ? old_launch_parameter(state, offset, value, size) : result;
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    return cu_old_launch_set_parameter(hfunc, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction hfunc, int offset, float value)
{
    return cu_old_launch_set_parameter(hfunc, offset, &value, sizeof(value));
}

CUresult cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    return cu_old_launch_set_parameter(hfunc, offset, ptr, numbytes);
}

static CUresult cu_old_launch_grid(CUfunction function, int width, int height, CUstream stream)
{
    struct old_launch **state;
    struct old_launch_request request;
    CUresult result = cu_old_launch_find_state(function, &state);
    if (result == CUDA_SUCCESS)
        result = old_launch_make(state, width, height, stream, &request);
    if (result != CUDA_SUCCESS)
        return result;
    const struct launch launch = {.config = &request.config,
                                  .stream = stream,
                                  .function = function,
                                  .extra = request.extra,
                                  .room_beyond = true};
    return kernel_launch(&launch);
}

CUresult cuLaunch(CUfunction f)
{
    return cu_old_launch_grid(f, 1, 1, NULL);
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return cu_old_launch_grid(f, grid_width, grid_height, NULL);
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
    return cu_old_launch_grid(f, grid_width, grid_height, hStream);
}
