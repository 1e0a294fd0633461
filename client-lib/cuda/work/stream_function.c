// SPDX-License-Identifier: BSD-3-Clause
// A function in a stream runs once; a captured one runs at each launch of the graph.
#include "client-lib/cuda/work/stream_function.h"

#include "client-lib/cuda/work/callbacks.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/work/host_function.h"
#include "client-lib/cuda/work/stream_names.h"
#include "client-lib/cuda/objects/thread.h"
#include "client_calls.h"

// *CAPTURED: the stream is under capture. A captured graph can call functions, but no callbacks.
static CUresult stream_function_capture(struct box_session *session, CUstream stream,
                                        CUhostFn function, bool is_callback, void *data,
                                        bool *captured)
{
    CUstreamCaptureStatus status;
    CUresult result = capture_status(session, stream, &status);
    *captured = status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (result != CUDA_SUCCESS || !*captured)
        return result;
    if (is_callback) {
        remote_cuStreamQuery(stream); // invalidates the capture, as the callback would
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    uint64_t callback = callback_function(session, function, data);
    return callback ? remote_capture_host(stream, callback) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult stream_function(CUstream stream, bool per_thread, CUhostFn function,
                         CUstreamCallback callback, void *data)
{
    CUstream named = per_thread ? stream_per_thread(stream) : stream;
    struct object *context;
    bool captured = false;
    if (captures_any() && thread_context_object(&context) == CUDA_SUCCESS) {
        CUresult result = stream_function_capture(context->session, named, function,
                                                  callback != NULL, data, &captured);
        if (captured || result != CUDA_SUCCESS)
            return result;
    }
    return host_function_launch(stream, per_thread, function, callback, data);
}
