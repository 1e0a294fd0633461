// SPDX-License-Identifier: BSD-3-Clause
// Launch calls of CUDA before version 4, implemented by the present ones.
#include "client-lib/cuda/api/call_bodies.h"
#include "client-lib/cuda/work/launching.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/thread.h"
#include "common/driver/old_launch.h"

CUresult old_launch_of(CUfunction function, struct old_launch ***out)
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

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
    struct old_launch **state;
    struct old_launch_request request;
    CUresult result = old_launch_of(function, &state);
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
