// SPDX-License-Identifier: BSD-3-Clause
// Primary contexts, contexts, and each thread's stack of current ones.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"
#include "common/driver/export_tables.h"

CUresult export_table_primary_context(CUcontext *context, CUdevice device)
{
    return primary_context(device, context);
}

// The first form refuses to change the flags of an active context.
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    unsigned int old;
    int active = 0;
    if (primary_state(dev, &old, &active) == CUDA_SUCCESS && active)
        return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    return primary_set_flags(dev, flags);
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS)
        result = remote_cuCtxSetFlags(flags);
    if (result == CUDA_SUCCESS)
        object->ctx.flags = flags;
    return result;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result != CUDA_SUCCESS)
        return result;
    const struct wire_device *device = session_device(object->ctx.device);
    if (leastPriority)
        *leastPriority = device->stream_priority_least;
    if (greatestPriority)
        *greatestPriority = device->stream_priority_greatest;
    return CUDA_SUCCESS;
}
