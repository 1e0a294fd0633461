// SPDX-License-Identifier: BSD-3-Clause
// Event management.
#include "client-lib/cuda/api/exports.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    unsigned int known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    bool interprocess = Flags & CU_EVENT_INTERPROCESS;
    if ((Flags & ~known) || (interprocess && !(Flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = remote_cuEventCreate(phEvent, Flags & ~(unsigned int)CU_EVENT_INTERPROCESS);
    if (result == CUDA_SUCCESS && interprocess)
        object_find(HANDLE_EVENT, *phEvent)->event.interprocess = true;
    return result;
}

// Returns an error if querying the event fails or a capture forbids it.
static CUresult cu_event_judge(CUevent event)
{
    return captures_any() ? capture_judge_question(remote_cuEventQuery(event)) : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent hEvent)
{
    CUresult result = cu_event_judge(hEvent);
    return result == CUDA_SUCCESS ? remote_cuEventQuery(hEvent) : result;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
    CUresult result = cu_event_judge(hEvent);
    return result == CUDA_SUCCESS ? remote_cuEventSynchronize(hEvent) : result;
}

// An event can be recorded only in streams of its own context.
static CUresult check_event_stream(CUevent event, CUstream stream)
{
    const struct object *recorded = object_find(HANDLE_EVENT, event);
    const struct object *in = object_find(HANDLE_STREAM, stream);
    uint64_t context = context_root(in ? in->context : thread_context());
    return !recorded || recorded->context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult cu_event_record(CUevent event, CUstream stream, unsigned int flags)
{
    CUresult result = check_event_stream(event, stream);
    if (result == CUDA_SUCCESS)
        result = flags ? remote_cuEventRecordWithFlags(event, stream, flags)
                       : remote_cuEventRecord(event, stream);
    const struct object *recorded = object_find(HANDLE_EVENT, event);
    // Another process may query the event as soon as this call has returned.
    if (result == CUDA_SUCCESS && recorded && recorded->event.interprocess)
        result = remote_event_settled(event);
    return result;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return cu_event_record(hEvent, hStream, 0);
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    return cu_event_record(hEvent, hStream, flags);
}
