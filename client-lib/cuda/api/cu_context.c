// SPDX-License-Identifier: BSD-3-Clause
// Primary contexts, contexts, and each thread's stack of current ones.
#include <stdatomic.h>

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

// The box's answers to this thread about its latest context. They hold until a limit is set, but
// for the stack's, which a launch may raise.
static _Atomic uint64_t limits_set; // how often
static __thread struct {
    uint64_t context, set; // the context's handle on the wire; limits_set at that time
    unsigned int known;    // a bit for each limit
    size_t values[CU_LIMIT_MAX];
} limits;

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    CUresult result = remote_cuCtxSetLimit(limit, value);
    atomic_fetch_add(&limits_set, 1);
    return result;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result != CUDA_SUCCESS)
        return result;
    unsigned int bit = limit > CU_LIMIT_STACK_SIZE && limit < CU_LIMIT_MAX ? 1u << limit : 0;
    uint64_t context = object->ctx.wire, set = atomic_load(&limits_set);
    if (limits.context != context || limits.set != set)
        limits.known = 0;
    if (pvalue && (limits.known & bit) && context_is_sound(object)) {
        *pvalue = limits.values[limit];
        return CUDA_SUCCESS;
    }
    result = remote_cuCtxGetLimit(pvalue, limit);
    if (result != CUDA_SUCCESS || !bit)
        return result;
    limits.context = context;
    limits.set = set;
    limits.known |= bit;
    limits.values[limit] = *pvalue;
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
