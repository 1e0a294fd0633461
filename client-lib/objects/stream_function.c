// SPDX-License-Identifier: BSD-3-Clause
// A function in a stream runs once; one that is captured is called at each launch of the graph.
#include "client-lib/objects/stream_function.h"

#include "client-lib/objects/callees.h"
#include "client-lib/objects/captures.h"
#include "client-lib/objects/host_function.h"
#include "client-lib/objects/stream_names.h"
#include "client-lib/objects/thread.h"
#include "client_calls.h"

// *CAPTURED: the stream is one, and takes a function that its graph calls; callbacks it does not take.
static CUresult capture(struct box_session *session, CUstream stream, CUhostFn function,
                        bool is_callback, void *data, bool *captured)
{
    CUstreamCaptureStatus status;
    CUresult result = capture_status(session, stream, &status);
    *captured = status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (result != CUDA_SUCCESS || !*captured)
        return result;
    if (is_callback) {
        remote_cuStreamQuery(stream); // which breaks the capture, as the callback would
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    uint64_t callee = callee_function(session, function, data);
    return callee ? remote_capture_host(stream, callee) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult stream_function(CUstream stream, bool per_thread, CUhostFn function,
                         CUstreamCallback callback, void *data)
{
    CUstream named = per_thread ? stream_per_thread(stream) : stream;
    struct object *context;
    bool captured = false;
    if (captures_any() && thread_context_object(&context) == CUDA_SUCCESS) {
        CUresult result =
            capture(context->session, named, function, callback != NULL, data, &captured);
        if (captured || result != CUDA_SUCCESS)
            return result;
    }
    return host_function_launch(stream, per_thread, function, callback, data);
}
