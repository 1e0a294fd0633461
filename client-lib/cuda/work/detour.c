// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/work/detour.h"

#include "client-lib/cuda/work/crossing.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

static CUresult detour_record(CUevent *event, CUstream stream)
{
    CUresult result = remote_cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    return result == CUDA_SUCCESS ? remote_cuEventRecord(*event, stream) : result;
}

static CUresult record_before(struct detour *detour)
{
    CUresult result = thread_push_context((CUcontext)(uintptr_t)detour->waiting->handle);
    if (result != CUDA_SUCCESS)
        return result;
    result = detour_record(&detour->before, detour->stream);
    thread_pop_context(NULL);
    return result;
}

static CUresult wait(CUstream stream, const struct object *waiting, CUevent event)
{
    return crossing_wait(stream, waiting, object_find(HANDLE_EVENT, event));
}

CUresult detour_begin(struct detour *detour, CUstream stream, const struct object *waiting,
                      const struct object *there)
{
    *detour = (struct detour){.stream = stream, .waiting = waiting};
    CUresult result = record_before(detour);
    if (result == CUDA_SUCCESS)
        result = thread_push_context((CUcontext)(uintptr_t)there->handle);
    if (result != CUDA_SUCCESS)
        return result;
    result = remote_cuStreamCreate(&detour->helper, CU_STREAM_NON_BLOCKING);
    if (result == CUDA_SUCCESS)
        result = wait(detour->helper, there, detour->before);
    return result == CUDA_SUCCESS ? CUDA_SUCCESS : detour_end(detour, result);
}

// The box keeps destroyed streams and events until nothing waits for them.
CUresult detour_end(struct detour *detour, CUresult result)
{
    CUevent after = NULL;
    if (result == CUDA_SUCCESS)
        result = detour_record(&after, detour->helper);
    thread_pop_context(NULL);
    if (result == CUDA_SUCCESS)
        result = wait(detour->stream, detour->waiting, after);
    if (after)
        remote_cuEventDestroy_v2(after);
    if (detour->helper)
        remote_cuStreamDestroy_v2(detour->helper);
    if (detour->before)
        remote_cuEventDestroy_v2(detour->before);
    return result;
}
