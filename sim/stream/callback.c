// SPDX-License-Identifier: BSD-3-Clause
// Runs host code in stream order: cuLaunchHostFunc and the older stream callbacks.
#include "sim/engine/capture.h"
#include "sim/engine/stream_work.h"

struct host_operation {
    struct operation operation;
    CUhostFn function;
    CUstreamCallback callback;
    CUstream handle; // the stream as the program named it
    void *user_data;
};

static CUresult run_host(struct operation *operation, struct stream *stream)
{
    struct host_operation *host = (struct host_operation *)operation;
    sim_set_in_callback(true);
    if (host->function)
        host->function(host->user_data);
    else
        host->callback(host->handle, (CUresult)atomic_load(&stream->context->fault),
                       host->user_data);
    sim_set_in_callback(false);
    return CUDA_SUCCESS;
}

CUresult host_function_prepare(CUhostFn function, void *data, struct operation **out)
{
    SIM_RETURN_IF(!function, CUDA_ERROR_INVALID_VALUE);
    struct host_operation *host = operation_create(sizeof(*host), run_host, operation_free);
    SIM_RETURN_IF(!host, CUDA_ERROR_OUT_OF_MEMORY);
    host->function = function;
    host->user_data = data;
    *out = &host->operation;
    return CUDA_SUCCESS;
}

static CUresult callback_capture(struct stream *stream, CUhostFn function, void *data)
{
    struct capture_item item = {
        .params = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.fn = function, .userData = data}}};
    return function ? capture_add(stream, &item) : capture_refuse(stream);
}

static CUresult callback_submit(CUstream handle, CUhostFn function, CUstreamCallback callback,
                                void *data, unsigned flags)
{
    struct stream *stream;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF((!function && !callback) || flags, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(stream_get(handle, &stream));
    if (capture_contains(stream)) {
        CUresult captured = callback_capture(stream, function, data);
        object_put(&stream->object);
        return captured;
    }
    struct host_operation *host = operation_create(sizeof(*host), run_host, operation_free);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (host) {
        host->function = function;
        host->callback = callback;
        host->handle = handle;
        host->user_data = data;
        // A callback runs after a fault and receives it; a host function does not run after a
        // fault.
        host->operation.even_failed = callback != NULL;
        result = stream_submit(stream, &host->operation, NULL);
    }
    object_put(&stream->object);
    return result;
}

SIM_CALL(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data),
         callback_submit(stream, function, NULL, data, 0))
SIM_CALL(cuStreamAddCallback,
         (CUstream stream, CUstreamCallback callback, void *data, unsigned int flags),
         callback_submit(stream, NULL, callback, data, flags))
