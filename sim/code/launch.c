// SPDX-License-Identifier: BSD-3-Clause
// Implements kernel launches: checks, packed parameters, execution, and the effects of a fault.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "sim/engine/capture.h"
#include "sim/engine/event.h"
#include "sim/image/image_object.h"
#include "sim/code/launch.h"
#include "sim/engine/memory.h"
#include "sim/mps/mps_client.h"
#include "sim/code/occupancy.h"
#include "sim/engine/shared_state.h"
#include "sim/engine/work_notes.h"

struct launch_operation {
    struct operation operation;
    struct function *function;
    struct launch_request request;
    size_t stack_bytes;
    _Alignas(16) char parameters[];
};

static _Thread_local const struct launch_conditions *thread_conditions;

void launch_set_conditions(const struct launch_conditions *graph)
{
    thread_conditions = graph;
}

static CUresult fault_result(enum ptx_fault_kind kind)
{
    switch (kind) {
    case PTX_FAULT_ILLEGAL_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case PTX_FAULT_MISALIGNED_ADDRESS: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case PTX_FAULT_INVALID_ADDRESS_SPACE: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case PTX_FAULT_ILLEGAL_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case PTX_FAULT_INVALID_PC: return CUDA_ERROR_INVALID_PC;
    case PTX_FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case PTX_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case PTX_FAULT_DEADLOCK: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case PTX_FAULT_TRAP:
    case PTX_FAULT_NONE: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult report_fault(const struct function *function, const struct ptx_fault *fault)
{
    // The program prints a failed assertion's message, as with a GPU.
    if (fault->kind == PTX_FAULT_ASSERT)
        fprintf(stderr, "%s\n", fault->text);
    log_warn("kernel failed, name=%s fault=\"%s\" block=%u,%u,%u thread=%u,%u,%u: %s",
             function->info->name, ptx_fault_name(fault->kind), fault->block[0], fault->block[1],
             fault->block[2], fault->thread[0], fault->thread[1], fault->thread[2], fault->text);
    return fault_result(fault->kind);
}

static CUresult launch_run(struct operation *operation, struct stream *stream)
{
    struct launch_operation *launch = (struct launch_operation *)operation;
    const struct launch_request *request = &launch->request;
    struct ptx_fault fault = {.kind = PTX_FAULT_NONE};
    struct ptx_launch run = {
        .function = launch->function->code,
        .grid = {request->grid[0], request->grid[1], request->grid[2]},
        .block = {request->block[0], request->block[1], request->block[2]},
        .dynamic_shared = request->dynamic_shared,
        .params = launch->parameters,
        .memory = {stream->context, memory_find_for_kernel},
        .images = image_finders(stream->context),
        .print_argument = stream->context,
        .print = context_print,
        .heap_argument = stream->context,
        .allocate = memory_heap_allocate,
        .release = memory_heap_release,
        .threads = device_config()->threads,
        .sm_count = DEVICE_MULTIPROCESSORS,
        .clock_khz = DEVICE_CLOCK_KHZ,
        .stack_bytes = launch->stack_bytes,
        .cooperative = request->cooperative,
        .condition_opaque = thread_conditions ? thread_conditions->opaque : NULL,
        .set_condition = thread_conditions ? thread_conditions->set_condition : NULL,
    };
    int ordinal = stream->context->device->ordinal;
    shared_state_kernel_begins(ordinal);
    mps_kernel_begins();
    int err = ptx_launch_run(&run, &fault);
    mps_kernel_ended();
    shared_state_kernel_ended(ordinal);
    if (device_config()->bad >> ordinal & 1)
        memory_spoil(stream->context);
    switch (err) {
    case 0: return CUDA_SUCCESS;
    case -EFAULT: return report_fault(launch->function, &fault);
    case -ENOMEM: return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static void describe_launch(const struct operation *operation, struct work_note *note)
{
    const struct launch_operation *launch = (const struct launch_operation *)operation;
    const struct ptx_function_info *info = launch->function->info;
    note->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    note->name = info->name;
    memcpy(note->grid, launch->request.grid, sizeof(note->grid));
    memcpy(note->block, launch->request.block, sizeof(note->block));
    note->static_shared = (uint32_t)info->static_shared;
    note->dynamic_shared = launch->request.dynamic_shared;
    note->registers = info->registers;
    note->local_bytes = (uint32_t)info->local_bytes;
}

static void launch_release(struct operation *operation)
{
    function_put(((struct launch_operation *)operation)->function);
    operation_free(operation);
}

static CUresult launch_check_shape(const struct function *function,
                                   const struct launch_request *request)
{
    static const unsigned most_blocks[3] = {INT32_MAX, 65535, 65535};
    static const unsigned most_threads[3] = {1024, 1024, 64};
    const struct ptx_function_info *info = function->info;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        SIM_RETURN_IF(!request->grid[i] || request->grid[i] > most_blocks[i],
                      CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(!request->block[i] || request->block[i] > most_threads[i],
                      CUDA_ERROR_INVALID_VALUE);
        SIM_RETURN_IF(info->required_block[0] && info->required_block[i] != request->block[i],
                      CUDA_ERROR_INVALID_VALUE);
        threads *= request->block[i];
    }
    SIM_RETURN_IF(threads > 1024, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(threads > info->max_threads, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    SIM_RETURN_IF(request->dynamic_shared > (unsigned)atomic_load(&function->max_dynamic_shared),
                  CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult check_cooperative(const struct function *function,
                                  const struct launch_request *request)
{
    unsigned threads = request->block[0] * request->block[1] * request->block[2];
    uint64_t blocks = (uint64_t)request->grid[0] * request->grid[1] * request->grid[2];
    int fit = occupancy_blocks(function, (int)threads, request->dynamic_shared);
    SIM_RETURN_IF(blocks > (uint64_t)fit * DEVICE_MULTIPROCESSORS,
                  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    return CUDA_SUCCESS;
}

// Packs parameters given as a buffer: pairs of a key and a value, ended by a key.
static CUresult pack_extra(void **extra, char *out, size_t size)
{
    const void *buffer = NULL;
    size_t given = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        SIM_RETURN_IF(i > 8, CUDA_ERROR_INVALID_VALUE);
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            given = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    SIM_RETURN_IF(size && (!buffer || !given), CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(given > size, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    // NCCL passes fewer bytes than its kernels have parameters; the kernels do not read the rest.
    if (given)
        memcpy(out, buffer, given);
    memset(out + given, 0, size - given);
    return CUDA_SUCCESS;
}

static CUresult launch_pack(const struct ptx_function_info *info,
                            const struct launch_request *request, char *out)
{
    SIM_RETURN_IF(request->parameters && request->extra, CUDA_ERROR_INVALID_VALUE);
    if (request->extra)
        return pack_extra(request->extra, out, info->param_bytes);
    SIM_RETURN_IF(info->param_count && !request->parameters, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < info->param_count; i++) {
        SIM_RETURN_IF(!request->parameters[i], CUDA_ERROR_INVALID_VALUE);
        memcpy(out + info->params[i].offset, request->parameters[i], info->params[i].size);
    }
    return CUDA_SUCCESS;
}

CUresult launch_prepare(struct function *function, const struct launch_request *request,
                        struct operation **out, char **parameters)
{
    SIM_TRY(launch_check_shape(function, request));
    if (request->cooperative)
        SIM_TRY(check_cooperative(function, request));
    struct launch_operation *launch =
        operation_create(sizeof(*launch) + function->info->param_bytes + 16, launch_run,
                         launch_release);
    SIM_RETURN_IF(!launch, CUDA_ERROR_OUT_OF_MEMORY);
    object_hold(&function->object);
    launch->operation.describe = describe_launch;
    launch->function = function;
    launch->request = *request;
    launch->stack_bytes = context_limit(function->module->context, CU_LIMIT_STACK_SIZE);
    CUresult result = launch_pack(function->info, request, launch->parameters);
    if (result) {
        operation_discard(&launch->operation);
        return result;
    }
    *out = &launch->operation;
    if (parameters)
        *parameters = launch->parameters;
    return CUDA_SUCCESS;
}

static CUresult launch_submit(struct function *function, struct stream *stream,
                              const struct launch_request *request)
{
    struct operation *operation;
    SIM_RETURN_IF(function->module->context != stream->context, CUDA_ERROR_INVALID_HANDLE);
    SIM_TRY(launch_prepare(function, request, &operation, NULL));
    context_flush_print(stream->context);
    return stream_submit(stream, operation, NULL);
}

static CUresult launch_capture(struct function *function, struct stream *stream,
                               const struct launch_request *request, const CUlaunchConfig *config)
{
    struct capture_item item = {
        .params = {.type = CU_GRAPH_NODE_TYPE_KERNEL,
                   .kernel = {.func = object_handle(&function->object),
                              .gridDimX = request->grid[0],
                              .gridDimY = request->grid[1],
                              .gridDimZ = request->grid[2],
                              .blockDimX = request->block[0],
                              .blockDimY = request->block[1],
                              .blockDimZ = request->block[2],
                              .sharedMemBytes = request->dynamic_shared,
                              .kernelParams = request->parameters,
                              .extra = request->extra,
                              .ctx = object_handle(&stream->context->object)}},
        .attributes = config ? config->attrs : NULL,
        .attribute_count = config ? config->numAttrs : 0,
    };
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    SIM_RETURN_IF(function->module->context != stream->context, CUDA_ERROR_INVALID_HANDLE);
    if (!config && request->cooperative) {
        item.attributes = &cooperative;
        item.attribute_count = 1;
    }
    return capture_add(stream, &item);
}

static CUresult launch_checked(CUfunction function_handle, CUstream stream_handle,
                               const struct launch_request *request, const CUlaunchConfig *config,
                               struct event *done)
{
    SCOPED_OBJECT struct function *function = NULL;
    struct stream *stream;
    SIM_TRY(function_get(function_handle, &function));
    CUresult result = function_make_ready(function);
    if (!result)
        result = stream_get(stream_handle, &stream);
    if (!result) {
        result = capture_contains(stream) ? launch_capture(function, stream, request, config)
                                          : launch_submit(function, stream, request);
        if (!result && done)
            result = event_record(done, stream);
        object_put(&stream->object);
    }
    return result;
}

static CUresult launch_plain(CUfunction function, const unsigned grid[3], const unsigned block[3],
                             unsigned shared, CUstream stream, void **parameters, void **extra,
                             bool cooperative)
{
    struct launch_request request = {
        .grid = {grid[0], grid[1], grid[2]},
        .block = {block[0], block[1], block[2]},
        .dynamic_shared = shared,
        .cooperative = cooperative,
        .parameters = parameters,
        .extra = extra,
    };
    return launch_checked(function, stream, &request, NULL, NULL);
}

SIM_CALL(cuLaunchKernel,
         (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
          unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **parameters,
          void **extra),
         launch_plain(function, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream,
                      parameters, extra, false))
SIM_CALL(cuLaunchCooperativeKernel,
         (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
          unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
          void **parameters),
         launch_plain(function, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream,
                      parameters, NULL, true))

// Accepts attributes that only tune a launch. Clusters of more than one block are not supported.
CUresult launch_apply_attribute(const CUlaunchAttribute *attribute, struct launch_request *request,
                                CUevent *done)
{
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        request->cooperative = attribute->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (attribute->value.clusterDim.x > 1 || attribute->value.clusterDim.y > 1 ||
            attribute->value.clusterDim.z > 1)
            return CUDA_ERROR_NOT_SUPPORTED;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        *done = attribute->value.programmaticEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        *done = attribute->value.launchCompletionEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        return attribute->value.syncPolicy >= CU_SYNC_POLICY_AUTO &&
                       attribute->value.syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return attribute->value.clusterSchedulingPolicyPreference <=
                       CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return attribute->value.memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MAX: break;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult launch_configured(const CUlaunchConfig *config, CUfunction function, CUstream stream,
                           void **parameters, void **extra)
{
    CUevent event_handle = NULL;
    struct event *event = NULL;
    struct launch_request request = {
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared = config->sharedMemBytes,
        .parameters = parameters,
        .extra = extra,
    };
    struct stream *known;
    SIM_TRY(stream_get(stream, &known)); // before the attributes, of which there may be none
    object_put(&known->object);
    SIM_RETURN_IF(config->numAttrs && !config->attrs, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < config->numAttrs; i++)
        SIM_TRY(launch_apply_attribute(&config->attrs[i], &request, &event_handle));
    if (event_handle)
        SIM_TRY(event_get(event_handle, &event));
    CUresult result = launch_checked(function, stream, &request, config, event);
    if (event)
        event_put(event);
    return result;
}

SIM_API(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **parameters,
        void **extra)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!config, CUDA_ERROR_INVALID_VALUE);
    return launch_configured(config, function, config->hStream, parameters, extra);
}

SIM_API(cuLaunchKernelEx_ptsz, const CUlaunchConfig *config, CUfunction function, void **parameters,
        void **extra)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!config, CUDA_ERROR_INVALID_VALUE);
    CUstream stream = config->hStream ? config->hStream : CU_STREAM_PER_THREAD;
    return launch_configured(config, function, stream, parameters, extra);
}
