// SPDX-License-Identifier: BSD-3-Clause
#include "sim/graph/node_step.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memory/copy.h"
#include "sim/graph/graph_memory.h"
#include "sim/code/launch.h"
#include "sim/engine/memory.h"
#include "sim/engine/stream_work.h"

struct node_step {
    atomic_int references;
    CUgraphNodeParams params;
    struct step_attributes attributes;
    void *copied;                // data that params point to, unless the operation holds them
    struct operation *operation; // NULL: nothing to run
    struct stream *stream;       // default stream of the step's context; counted
    struct function *function;   // of a kernel; counted
    struct event *event;         // counted
    struct graph_memory *memory; // counted
};

static CUresult take_context(struct node_step *step, CUcontext handle)
{
    SCOPED_OBJECT struct context *context = NULL;
    SIM_TRY(context_get(handle, &context));
    CUresult result = context_status(context);
    if (!result) {
        step->stream = context->legacy;
        object_hold(&step->stream->object);
    }
    return result;
}

static struct launch_request node_step_request_of(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel)
{
    return (struct launch_request){
        .grid = {kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ},
        .block = {kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ},
        .dynamic_shared = kernel->sharedMemBytes,
        .parameters = kernel->kernelParams,
        .extra = kernel->extra,
    };
}

static CUresult apply_attributes(const struct step_attributes *attributes,
                                 struct launch_request *request)
{
    for (unsigned id = 0; id < CU_LAUNCH_ATTRIBUTE_MAX; id++) {
        CUevent done = NULL;
        if (!(attributes->set & 1u << id))
            continue;
        CUlaunchAttribute attribute = {.id = (CUlaunchAttributeID)id,
                                       .value = attributes->values[id]};
        SIM_TRY(launch_apply_attribute(&attribute, request, &done));
        SIM_RETURN_IF(done, CUDA_ERROR_NOT_SUPPORTED);
    }
    return CUDA_SUCCESS;
}

// Shows parameters that came in one buffer as one buffer.
static CUresult point_at_piece(struct node_step *step, char *parameters)
{
    struct {
        void *extra[5];
        size_t size;
    } *piece = malloc(sizeof(*piece));
    SIM_RETURN_IF(!piece, CUDA_ERROR_OUT_OF_MEMORY);
    piece->size = step->function->info->param_bytes;
    piece->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    piece->extra[1] = parameters;
    piece->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    piece->extra[3] = &piece->size;
    piece->extra[4] = CU_LAUNCH_PARAM_END;
    step->copied = piece;
    step->params.kernel.extra = piece->extra;
    return CUDA_SUCCESS;
}

// Points the program's view at the kernel's own copy of each parameter.
static CUresult point_at_parameters(struct node_step *step, char *parameters)
{
    const struct ptx_function_info *info = step->function->info;
    if (step->params.kernel.extra)
        return point_at_piece(step, parameters);
    void **pointers = calloc(info->param_count + 1, sizeof(void *));
    SIM_RETURN_IF(!pointers, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < info->param_count; i++)
        pointers[i] = parameters + info->params[i].offset;
    step->copied = pointers;
    step->params.kernel.kernelParams = pointers;
    return CUDA_SUCCESS;
}

static CUresult node_step_make_kernel(struct node_step *step,
                                      const CUDA_KERNEL_NODE_PARAMS_v3 *kernel)
{
    char *parameters;
    struct launch_request request = node_step_request_of(kernel);
    CUfunction handle = kernel->func ? kernel->func : (CUfunction)kernel->kern;
    SIM_TRY(function_get(handle, &step->function));
    SIM_TRY(apply_attributes(&step->attributes, &request));
    SIM_TRY(launch_prepare(step->function, &request, &step->operation, &parameters));
    struct context *context = step->function->module->context;
    step->params.kernel.func = object_handle(&step->function->object);
    step->params.kernel.kern = NULL;
    step->params.kernel.ctx = object_handle(&context->object);
    SIM_TRY(take_context(step, step->params.kernel.ctx));
    return point_at_parameters(step, parameters);
}

static CUresult node_step_make_copy(struct node_step *step, const CUDA_MEMCPY_NODE_PARAMS *copy)
{
    struct copy_box box;
    SIM_TRY(take_context(step, copy->copyCtx));
    SIM_RETURN_IF(copy->flags || copy->reserved, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(!copy->copyParams.WidthInBytes || !copy->copyParams.Height ||
                      !copy->copyParams.Depth,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(copy_understand(&copy->copyParams, &box));
    return copy_prepare(&box, &step->operation);
}

static CUresult make_words(struct node_step *step, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *words)
{
    SIM_RETURN_IF(!words->ctx, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(take_context(step, words->ctx));
    SIM_RETURN_IF(words->flags, CUDA_ERROR_INVALID_VALUE);
    if (!words->count)
        return CUDA_SUCCESS;
    SIM_TRY(words_prepare(words->count, words->paramArray, words->flags, &step->operation));
    step->copied = malloc(words->count * sizeof(words->paramArray[0]));
    SIM_RETURN_IF(!step->copied, CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(step->copied, words->paramArray, words->count * sizeof(words->paramArray[0]));
    step->params.memOp.paramArray = step->copied;
    return CUDA_SUCCESS;
}

static CUresult node_step_take_event(struct node_step *step, CUevent event)
{
    return event ? event_get(event, &step->event) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult node_step_make(struct node_step *step, const CUgraphNodeParams *params)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return node_step_make_kernel(step, &params->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return node_step_make_copy(step, &params->memcpy);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        SIM_TRY(take_context(step, params->memset.ctx));
        return fill_prepare(&params->memset, &step->operation);
    case CU_GRAPH_NODE_TYPE_HOST:
        return host_function_prepare(params->host.fn, params->host.userData, &step->operation);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return node_step_take_event(step, params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return node_step_take_event(step, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return make_words(step, &params->memOp);
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: break; // created by step_create_memory
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static struct node_step *step_new(const CUgraphNodeParams *params)
{
    struct node_step *step = calloc(1, sizeof(*step));
    if (!step)
        return NULL;
    atomic_init(&step->references, 1);
    step->params = *params;
    return step;
}

CUresult step_create(const CUgraphNodeParams *params, const struct step_attributes *attributes,
                     struct node_step **out)
{
    struct node_step *step = step_new(params);
    SIM_RETURN_IF(!step, CUDA_ERROR_OUT_OF_MEMORY);
    if (attributes)
        step->attributes = *attributes;
    memory_show_all(true);
    CUresult result = node_step_make(step, params);
    memory_show_all(false);
    if (result) {
        step_put(step);
        return result;
    }
    *out = step;
    return CUDA_SUCCESS;
}

CUresult step_create_memory(const CUgraphNodeParams *params, struct graph_memory *memory,
                            struct node_step **out)
{
    struct node_step *step = step_new(params);
    size_t count = params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? params->alloc.accessDescCount : 0;
    if (step)
        step->memory = memory;
    else
        graph_memory_put(memory);
    SIM_RETURN_IF(!step, CUDA_ERROR_OUT_OF_MEMORY);
    if (count) {
        step->copied = malloc(count * sizeof(params->alloc.accessDescs[0]));
        if (!step->copied) {
            step_put(step);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        memcpy(step->copied, params->alloc.accessDescs,
               count * sizeof(params->alloc.accessDescs[0]));
        step->params.alloc.accessDescs = step->copied;
    }
    *out = step;
    return CUDA_SUCCESS;
}

struct node_step *step_hold(struct node_step *step)
{
    atomic_fetch_add(&step->references, 1);
    return step;
}

void step_put(struct node_step *step)
{
    if (!step || atomic_fetch_sub(&step->references, 1) != 1)
        return;
    if (step->operation)
        operation_discard(step->operation);
    if (step->event)
        event_put(step->event);
    if (step->function)
        function_put(step->function);
    if (step->memory)
        graph_memory_put(step->memory);
    if (step->stream)
        object_put(&step->stream->object);
    free(step->copied);
    free(step);
}

const CUgraphNodeParams *step_params(const struct node_step *step)
{
    return &step->params;
}

const struct step_attributes *step_kernel_attributes(const struct node_step *step)
{
    return &step->attributes;
}

struct function *step_function(const struct node_step *step)
{
    return step->function;
}

struct event *step_event(const struct node_step *step)
{
    return step->event;
}

struct graph_memory *step_memory(const struct node_step *step)
{
    return step->memory;
}

struct context *step_context(const struct node_step *step)
{
    return step->stream ? step->stream->context : NULL;
}

CUresult step_status(const struct node_step *step)
{
    const struct stream *stream = step->stream;
    if (!stream)
        return CUDA_SUCCESS;
    if (!atomic_load(&stream->context->destroyed) && stream->context->legacy == stream)
        return context_status(stream->context);
    handle_stale(OBJECT_CONTEXT);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult step_run(const struct node_step *step, uint32_t correlation)
{
    if (!step->operation)
        return CUDA_SUCCESS;
    if (step->stream) {
        CUresult status = context_status(step->stream->context);
        SIM_RETURN_IF(status, status);
    }
    CUresult fault = operation_run(step->operation, step->stream, correlation);
    if (fault)
        context_fail(step->stream->context, fault);
    return fault;
}

bool step_is_brief(const struct node_step *step)
{
    return !step->operation || step->operation->brief;
}
