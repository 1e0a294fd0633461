// SPDX-License-Identifier: BSD-3-Clause
// Kernel launches. Parameters arrive packed in the layout that function_info has returned. Their
// size must match that layout, because the kernel would otherwise read undefined data.
#include "daemon/worker/execute/serve_launch.h"

#include <string.h>

#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "proto/wire.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/core/driver_load.h"
#include "daemon/worker/execute/library_use.h"
#include "daemon/worker/execute/serve_crossing.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/peer/kernel_windows.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

// ---- the layout of a function's parameters ----

static CUresult parameter(bool is_kernel, void *function, size_t i, size_t *offset, size_t *size)
{
    if (is_kernel)
        return driver.cuKernelGetParamInfo ? driver.cuKernelGetParamInfo(function, i, offset, size)
                                           : CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuFuncGetParamInfo ? driver.cuFuncGetParamInfo(function, i, offset, size)
                                     : CUDA_ERROR_NOT_SUPPORTED;
}

// Fills at most ROOM of OUT (may be NULL); counts all.
static CUresult layout(uint64_t handle, void *function, struct wire_parameter *out, size_t room,
                       uint32_t *count, uint32_t *bytes)
{
    bool is_kernel = handle_type(handle) == HANDLE_KERNEL;
    size_t offset = 0, size = 0;
    CUresult result;

    *count = *bytes = 0;
    while ((result = parameter(is_kernel, function, *count, &offset, &size)) == CUDA_SUCCESS) {
        if (out && *count < room)
            out[*count] = (struct wire_parameter){(uint32_t)offset, (uint32_t)size};
        if (offset + size > *bytes)
            *bytes = (uint32_t)(offset + size);
        ++*count;
    }
    return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

static CUresult function_attribute(uint64_t handle, void *function, CUfunction_attribute which,
                                   int *out)
{
    CUdevice device = 0;

    if (handle_type(handle) != HANDLE_KERNEL)
        return driver.cuFuncGetAttribute(out, which, function);
    CUresult result = driver.cuCtxGetDevice(&device);
    return result == CUDA_SUCCESS ? driver.cuKernelGetAttribute(out, which, function, device)
                                  : result;
}

// A driver loads code late, with the first launch, and may wait inside for all work to do so. So
// code is loaded here, where its client asks for the first time, while no stream is held back.
// Should it fail, the launch says so.
static void load_code(struct serve *serve, uint64_t handle, void *code)
{
    bool is_kernel = handle_type(handle) == HANDLE_KERNEL;
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
    CUfunction function = code;
    CUresult result = CUDA_SUCCESS;

    if (!driver.cuFuncLoad || !driver.cuFuncIsLoaded || (is_kernel && !driver.cuKernelGetFunction))
        return;
    if (!is_kernel && driver.cuFuncIsLoaded(&state, function) == CUDA_SUCCESS &&
        state == CU_FUNCTION_LOADING_STATE_LOADED)
        return;
    serve_sync_begins(serve);
    if (is_kernel) // whose code in this context this may be what loads
        result = driver.cuKernelGetFunction(&function, code);
    if (result == CUDA_SUCCESS)
        result = driver.cuFuncLoad(function);
    serve_sync_ended();
    if (result != CUDA_SUCCESS)
        log_debug("code not loaded before its first launch result=%s", driver_error_name(result));
}

void serve_function_info(struct serve *serve, const struct args_function_info *args)
{
    struct wire_function_info *info = (void *)serve->bytes;
    struct wire_parameter *parameters = (void *)(info + 1);
    uint32_t room = serve_reply_room(serve, args->reply_room);
    void *function = serve_handle(serve, HANDLE_FUNCTION, args->function);

    if (room < sizeof(*info))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (serve_failed(serve))
        return;
    memset(info, 0, sizeof(*info));
    size_t slots = (room - sizeof(*info)) / sizeof(*parameters);
    serve_fail(serve, layout(args->function, function, parameters, slots, &info->parameter_count,
                             &info->parameter_bytes));
    if (info->parameter_count > slots)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    if (!serve_failed(serve))
        load_code(serve, args->function, function);
    // Attributes are advice; a kernel without a context has none yet.
    function_attribute(args->function, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                       &info->max_threads);
    function_attribute(args->function, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                       &info->static_shared);
    if (!serve_failed(serve))
        serve_reply_bytes(serve, info, sizeof(*info) + info->parameter_count * sizeof(*parameters));
}

void serve_function_attributes(struct serve *serve, const struct args_function_attributes *args,
                               CUdevice device)
{
    struct wire_function_attributes attributes = {0};
    void *function = serve_handle(serve, HANDLE_FUNCTION, args->function);
    bool is_kernel = handle_type(args->function) == HANDLE_KERNEL;

    if (serve_failed(serve) || (is_kernel && !serve_require(serve, driver.cuKernelGetAttribute)))
        return;
    for (unsigned i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++) {
        CUfunction_attribute which = (CUfunction_attribute)i;
        CUresult result =
            is_kernel ? driver.cuKernelGetAttribute(&attributes.values[i], which, function, device)
                      : driver.cuFuncGetAttribute(&attributes.values[i], which, function);
        if (result == CUDA_SUCCESS)
            attributes.known |= UINT32_C(1) << i;
        else if (result != CUDA_ERROR_INVALID_VALUE)
            serve_fail(serve, result);
    }
    if (!serve_failed(serve))
        serve_reply_bytes(serve, &attributes, sizeof(attributes));
}

static bool parameters_fit(struct serve *serve, uint64_t handle, void *function, uint32_t bytes)
{
    struct handle_note *note = &session.notes[handle_index(handle)];
    uint32_t count, wanted;

    if (!note->parameter_bytes) {
        CUresult result = layout(handle, function, NULL, 0, &count, &wanted);
        if (result != CUDA_SUCCESS) {
            serve_fail(serve, result);
            return false;
        }
        int frame = 0;
        function_attribute(handle, function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &frame);
        note->frame_bytes = frame > 0 ? (uint32_t)frame : 0;
        note->parameter_bytes = wanted + 1;
    }
    if (bytes == note->parameter_bytes - 1)
        return true;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return false;
}

// The context that PLACE is, or lives in; the caller's where it is neither.
static CUcontext context_at(const struct serve *serve, uint64_t place)
{
    bool is_context = handle_type(place) == HANDLE_CONTEXT;
    uint64_t handle = is_context ? place : serve_context_of(serve, place);
    CUcontext context = handle_find(session.handles, handle, HANDLE_CONTEXT);

    return context ? context : serve->current;
}

CUresult launch_device(CUcontext context, CUcontext current, CUdevice *device)
{
    CUcontext popped;

    if (context == current)
        return driver.cuCtxGetDevice(device);
    CUresult result = driver.cuCtxPushCurrent_v2(context);
    if (result == CUDA_SUCCESS) {
        result = driver.cuCtxGetDevice(device);
        driver.cuCtxPopCurrent_v2(&popped);
    }
    return result;
}

// A launch may cost memory, too: large frames of its threads, and a library's kernel that has not
// been used in the context in which it runs, which may be another one than the caller's.
static bool memory_fits(struct serve *serve, uint64_t handle, void *function, uint64_t place)
{
    uint32_t frame_bytes = session.notes[handle_index(handle)].frame_bytes;
    CUdevice device = 0;

    if (!session.budgeted || (!frame_bytes && handle_type(handle) != HANDLE_KERNEL))
        return true;
    CUcontext context = context_at(serve, place), root = green_root(context);
    if (launch_device(context, serve->current, &device) != CUDA_SUCCESS)
        return true; // the driver says what it thinks of that
    int ordinal = session_device_of(device);
    if (!charges_apply(ordinal) ||
        (library_use(handle, function, root, ordinal) && charge_frames(root, ordinal, frame_bytes)))
        return true;
    serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    return false;
}

bool launch_fits(struct serve *serve, uint64_t handle, void *function, uint32_t bytes,
                 uint64_t place)
{
    return parameters_fit(serve, handle, function, bytes) &&
           memory_fits(serve, handle, function, place);
}

CUresult launch_layout(uint64_t handle, void *function, struct wire_parameter *out, size_t room,
                       uint32_t *count, uint32_t *bytes)
{
    return layout(handle, function, out, room, count, bytes);
}

// ---- attributes ----

// Translates the attributes that a client may set: scalars, which the driver checks, and events of
// the session.
static bool serve_launch_translate(struct serve *serve, const struct wire_launch_attribute *from,
                                   CUlaunchAttribute *to)
{
    to->id = (CUlaunchAttributeID)from->id;
    to->value = from->value;
    switch (to->id) {
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        to->value.programmaticEvent.event =
            crossing_event(serve, (uint64_t)(uintptr_t)from->value.programmaticEvent.event);
        break;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        to->value.launchCompletionEvent.event =
            crossing_event(serve, (uint64_t)(uintptr_t)from->value.launchCompletionEvent.event);
        break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED); // would need graphs
        break;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
    case CU_LAUNCH_ATTRIBUTE_MAX: // the driver says what it thinks of that
        break;
    }
    return !serve_failed(serve);
}

// The attributes in front of DATA's parameters; false: noted.
static bool take_attributes(struct serve *serve, const void *data, uint32_t bytes, uint32_t count,
                            CUlaunchAttribute *out, uint32_t *taken)
{
    struct wire_launch_attribute from;

    if (count > WIRE_LAUNCH_ATTRIBUTES_MAX || bytes / sizeof(from) < count) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&from, (const uint8_t *)data + i * sizeof(from), sizeof(from));
        if (!serve_launch_translate(serve, &from, &out[i]))
            return false;
    }
    *taken = count * (uint32_t)sizeof(from);
    return true;
}

// ---- launches ----

// The configuration of either request that has a launch in it.
#define LAUNCH_CONFIG(args, stream, attributes, count) \
    { \
        .gridDimX = (args)->grid_x, .gridDimY = (args)->grid_y, .gridDimZ = (args)->grid_z, \
        .blockDimX = (args)->block_x, .blockDimY = (args)->block_y, .blockDimZ = (args)->block_z, \
        .sharedMemBytes = (args)->shared_bytes, .hStream = (stream), .attrs = (attributes), \
        .numAttrs = (count), \
    }

static CUresult launch_with(const struct args_launch *args, CUfunction function, CUstream stream,
                            CUlaunchAttribute *attributes, unsigned count, void **extra)
{
    CUlaunchConfig config = LAUNCH_CONFIG(args, stream, attributes, count);

    if (!driver.cuLaunchKernelEx)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuLaunchKernelEx(&config, function, NULL, extra);
}

void serve_launch(struct serve *serve, const struct args_launch *args, CUfunction function,
                  CUstream stream)
{
    CUlaunchAttribute attributes[WIRE_LAUNCH_ATTRIBUTES_MAX + 1];
    uint32_t count = args->attribute_count, taken = 0;

    if ((count && !take_attributes(serve, args + 1, args->bytes, count, attributes, &taken)))
        return;
    size_t bytes = args->bytes - taken;
    if (!launch_fits(serve, args->function, function, (uint32_t)bytes, args->stream))
        return;
    void *packed = (uint8_t *)(uintptr_t)(args + 1) + taken;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    void **parameters = bytes ? extra : NULL;
    if (args->flags & WIRE_LAUNCH_COOPERATIVE)
        attributes[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    if (count)
        serve_fail(serve, launch_with(args, function, stream, attributes, count, parameters));
    else if (serve_require(serve, driver.cuLaunchKernel))
        serve_fail(serve, driver.cuLaunchKernel(function, args->grid_x, args->grid_y, args->grid_z,
                                                args->block_x, args->block_y, args->block_z,
                                                args->shared_bytes, stream, NULL, parameters));
    if (!serve_failed(serve))
        kernel_windows_note_launch(serve->current, stream);
}

void serve_cluster_occupancy(struct serve *serve, const struct args_cluster_occupancy *args,
                             struct reply_cluster_occupancy *reply, CUfunction function,
                             CUstream stream)
{
    CUlaunchAttribute attributes[WIRE_LAUNCH_ATTRIBUTES_MAX];
    uint32_t taken;

    if (!take_attributes(serve, args + 1, args->bytes, args->attribute_count, attributes, &taken))
        return;
    CUlaunchConfig config = LAUNCH_CONFIG(args, stream, attributes, args->attribute_count);
    if (args->want_size) {
        if (serve_require(serve, driver.cuOccupancyMaxPotentialClusterSize))
            serve_fail(serve, driver.cuOccupancyMaxPotentialClusterSize(&reply->result, function,
                                                                        &config));
    } else if (serve_require(serve, driver.cuOccupancyMaxActiveClusters)) {
        serve_fail(serve, driver.cuOccupancyMaxActiveClusters(&reply->result, function, &config));
    }
}
