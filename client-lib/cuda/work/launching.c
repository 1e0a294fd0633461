// SPDX-License-Identifier: BSD-3-Clause
// Launching kernels: checks that need no box, and packing the parameters into the request.
#include "client-lib/cuda/work/launching.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "client-lib/cuda/objects/libraries.h"
#include "client-lib/cuda/work/parameters.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/report/watch.h"
#include "common/base/hash.h"
#include "common/base/scope.h"

// Returns the packed parameters of the `extra` form; NULL if the form is invalid.
static const void *launching_extra_buffer(void **extra, size_t *size)
{
    const void *buffer = NULL;
    bool sized = false;
    while (*extra != CU_LAUNCH_PARAM_END) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = extra[1];
        } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1]) {
            *size = *(const size_t *)extra[1];
            sized = true;
        } else {
            return NULL;
        }
        extra += 2;
    }
    return sized ? buffer : NULL;
}

// Refuses launches that a GPU would refuse at once, so that the right call returns the error.
static CUresult launching_check_shape(const struct launch *launch, const struct object *context,
                                      const struct parameter_layout *layout)
{
    const CUlaunchConfig *c = launch->config;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    const int32_t *limit = session_device(context->ctx.device)->attributes;
    if (!c->gridDimX || !c->gridDimY || !c->gridDimZ || !c->blockDimX || !c->blockDimY ||
        !c->blockDimZ)
        return CUDA_ERROR_INVALID_VALUE;
    if (c->gridDimX > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] ||
        c->gridDimY > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] ||
        c->gridDimZ > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] ||
        c->blockDimX > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] ||
        c->blockDimY > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] ||
        c->blockDimZ > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z])
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
    if (threads > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] ||
        c->sharedMemBytes > (uint32_t)limit[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN])
        return CUDA_ERROR_INVALID_VALUE;
    return threads > (uint32_t)layout->max_threads ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                                                   : CUDA_SUCCESS;
}

static void launching_pack(uint8_t *to, const struct parameter_layout *layout, void **parameters)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct wire_parameter *parameter = &layout->parameters[i];
        if (parameter->offset > end)
            memset(to + end, 0, parameter->offset - end);
        memcpy(to + parameter->offset, parameters[i], parameter->size);
        end = parameter->offset + parameter->size;
    }
    if (layout->bytes > end)
        memset(to + end, 0, layout->bytes - end);
}

// Parameters that the program has packed itself. No kernel may read those that it omits at the end.
struct packed {
    const void *at; // NULL: the program passes them one by one
    size_t size;
};

static void copy_parameters(void *to, const struct parameter_layout *layout, void **parameters,
                            const struct packed *packed)
{
    if (!packed->at) {
        launching_pack(to, layout, parameters);
        return;
    }
    size_t size = packed->size < layout->bytes ? packed->size : layout->bytes;
    memcpy(to, packed->at, size);
    memset((uint8_t *)to + size, 0, layout->bytes - size);
}

static void *pack_early(const struct parameter_layout *layout, void **parameters,
                        const struct packed *packed)
{
    void *early = malloc(layout->bytes + 1);
    if (early)
        copy_parameters(early, layout, parameters, packed);
    return early;
}

// Returns true if a parameter may point to host memory that the GPU has yet to get.
static bool launching_may_use_host(const struct parameter_layout *layout, void **parameters,
                                   const struct packed *packed)
{
    if (!atomic_load_explicit(&host_places_any, memory_order_relaxed))
        return false;
    if (packed->at)
        return host_pointers_among(packed->at, packed->size);
    for (uint32_t i = 0; i < layout->count; i++)
        if (host_pointers_among(parameters[i], layout->parameters[i].size))
            return true;
    return false;
}

static CUresult check_parameters(const struct launch *launch, const struct parameter_layout *layout,
                                 struct packed *packed)
{
    *packed = (struct packed){0};
    if (launch->parameters && launch->extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (launch->extra) {
        packed->at = launching_extra_buffer(launch->extra, &packed->size);
        if (!packed->at || (layout->bytes && !packed->size))
            return CUDA_ERROR_INVALID_VALUE;
        return packed->size > layout->bytes && !launch->room_beyond
                   ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                   : CUDA_SUCCESS;
    }
    if (layout->count && !launch->parameters)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

// A node with too many parameter bytes has an invalid value, although a launch would lack
// resources.
static CUresult check_node_parameters(const struct launch *launch,
                                      const struct parameter_layout *layout, struct packed *packed)
{
    return check_parameters(launch, layout, packed) == CUDA_SUCCESS ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_INVALID_VALUE;
}

// ---- attributes ----

// Returns the significant bytes of an attribute's value; 0 for events, which are translated
// instead.
static size_t launching_attribute_size(CUlaunchAttributeID id)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: return 0;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return sizeof(int);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return 3 * sizeof(unsigned int);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return sizeof(CUlaunchMemSyncDomainMap);
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    case CU_LAUNCH_ATTRIBUTE_MAX: break;
    }
    return sizeof(CUlaunchAttributeValue);
}

// Returns the same number for launches whose attributes the GPU accepts or refuses alike; 0: no
// attributes that matter.
static uint64_t attributes_mark(const CUlaunchConfig *c)
{
    uint64_t mark = c->numAttrs ? HASH_START : 0;
    const uint32_t shape[] = {c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes};
    if (!mark)
        return 0;
    mark = hash_bytes(mark, shape, sizeof(shape));
    for (unsigned int i = 0; i < c->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &c->attrs[i];
        mark = hash_bytes(mark, &attribute->id, sizeof(attribute->id));
        mark = hash_bytes(mark, &attribute->value, launching_attribute_size(attribute->id));
    }
    return mark ? mark : 1;
}

static bool divides(unsigned int part, unsigned int whole)
{
    return part && whole % part == 0;
}

// Returns true if the size of the grid decides whether the GPU accepts the attributes.
static bool grid_in_doubt(const CUlaunchConfig *c)
{
    for (unsigned int i = 0; i < c->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &c->attrs[i].value;
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && value->cooperative)
            return true;
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
            (!divides(value->clusterDim.x, c->gridDimX) ||
             !divides(value->clusterDim.y, c->gridDimY) ||
             !divides(value->clusterDim.z, c->gridDimZ)))
            return true;
    }
    return false;
}

// An event that the launch records must be one of the same box.
static CUresult launching_check_attributes(const CUlaunchConfig *c,
                                           const struct box_session *session)
{
    if (c->numAttrs > WIRE_LAUNCH_ATTRIBUTES_MAX || (c->numAttrs && !c->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < c->numAttrs; i++) {
        CUevent event;
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            event = c->attrs[i].value.programmaticEvent.event;
        else if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            event = c->attrs[i].value.launchCompletionEvent.event;
        else
            continue;
        const struct object *found = object_find(HANDLE_EVENT, event);
        if (!found || found->session != session)
            return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS;
}

static CUresult launching_encode(struct call *call, const struct launch *launch, uint64_t function,
                                 uint64_t stream, const struct parameter_layout *layout,
                                 const struct packed *packed)
{
    const CUlaunchConfig *c = launch->config;
    size_t attributes = c->numAttrs * sizeof(struct wire_launch_attribute);
    struct args_launch *args = call_reserve(call, sizeof(*args) + attributes + layout->bytes);
    if (!args)
        return call->result;
    *args = (struct args_launch){
        .function = function,
        .stream = stream,
        .grid_x = c->gridDimX,
        .grid_y = c->gridDimY,
        .grid_z = c->gridDimZ,
        .block_x = c->blockDimX,
        .block_y = c->blockDimY,
        .block_z = c->blockDimZ,
        .shared_bytes = c->sharedMemBytes,
        .flags = launch->flags,
        .attribute_count = c->numAttrs,
        .bytes = (uint32_t)(attributes + layout->bytes),
    };
    struct wire_launch_attribute *attribute = (void *)(args + 1);
    for (unsigned int i = 0; i < c->numAttrs; i++, attribute++) {
        attribute->id = (int32_t)c->attrs[i].id;
        attribute->reserved = 0;
        attribute->value = c->attrs[i].value;
    }
    copy_parameters(attribute, layout, launch->parameters, packed);
    return CUDA_SUCCESS;
}

// A launch that the GPU may well refuse is awaited, so that this call returns the error.
static CUresult launching_send(struct call *call, const struct launch *launch,
                               struct parameter_layout *layout)
{
    const CUlaunchConfig *c = launch->config;
    uint64_t mark = attributes_mark(c);
    bool much = c->sharedMemBytes >
                atomic_load_explicit(&layout->shared_allowed, memory_order_relaxed);
    bool strange =
        mark && (mark != atomic_load_explicit(&layout->attributes_allowed, memory_order_relaxed) ||
                 grid_in_doubt(c));
    if (!much && !strange && !(launch->flags & WIRE_LAUNCH_COOPERATIVE))
        return call_post(call);
    CUresult result = call_wait(call, NULL, 0);
    if (result == CUDA_SUCCESS && much)
        atomic_store_explicit(&layout->shared_allowed, c->sharedMemBytes, memory_order_relaxed);
    if (result == CUDA_SUCCESS && mark)
        atomic_store_explicit(&layout->attributes_allowed, mark, memory_order_relaxed);
    return result;
}

CUresult kernel_launch(const struct launch *launch)
{
    const CUlaunchConfig *c = launch->config;
    struct call call;
    struct packed packed;
    call_begin(&call, OP_launch);
    uint64_t function = call_handle(&call, HANDLE_FUNCTION, launch->function);
    uint64_t stream = call_stream(&call, launch->stream);
    if (call.result != CUDA_SUCCESS)
        return call.result;
    struct object *object = object_find(HANDLE_FUNCTION, (void *)(uintptr_t)function);
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    // A kernel has a function in every context; other functions run only in streams of their
    // context.
    const struct object *in = object_find(HANDLE_STREAM, launch->stream);
    if (in && object->kind == HANDLE_FUNCTION && context_root(in->context) != object->context)
        return CUDA_ERROR_INVALID_HANDLE;
    struct parameter_layout *layout = function_layout(object, &call.result);
    if (!layout)
        return call.result;
    function_prepare(object, layout, call.context);
    CUresult result = launching_check_shape(launch, call.context, layout);
    if (result == CUDA_SUCCESS)
        result = check_parameters(launch, layout, &packed);
    if (result == CUDA_SUCCESS)
        result = launching_check_attributes(c, call.session);
    if (result != CUDA_SUCCESS)
        return result;
    if (watching())
        watch_kernel(object->function.name, c);

    SCOPED_FREE void *early = NULL;
    if (before_work_duties() || launching_may_use_host(layout, launch->parameters, &packed)) {
        // The program's parameters may lie in memory that call_work makes inaccessible to it.
        early = pack_early(layout, launch->parameters, &packed);
        packed = (struct packed){early, layout->bytes};
        if (early && atomic_load_explicit(&host_places_any, memory_order_relaxed))
            host_pointers_resolve(call.session, early, layout->bytes);
        result = early ? call_work(&call, stream) : CUDA_ERROR_OUT_OF_MEMORY;
        if (result != CUDA_SUCCESS)
            return result;
    }
    result = launching_encode(&call, launch, function, stream, layout, &packed);
    return result == CUDA_SUCCESS ? launching_send(&call, launch, layout) : result;
}

// ---- nodes of graphs ----

// Finds the function of a node, for the box of SESSION.
static struct object *node_function(const CUDA_KERNEL_NODE_PARAMS_v3 *node,
                                    struct box_session *session, CUresult *result)
{
    const void *handle = node->func ? (const void *)node->func : (const void *)node->kern;
    struct object *object = object_find(HANDLE_FUNCTION, handle);
    *result = CUDA_ERROR_INVALID_HANDLE;
    if (object && object->session != session)
        object = object->kind == HANDLE_KERNEL ? library_twin(object, session, result) : NULL;
    return object;
}

static CUresult node_context(CUcontext context, const struct box_session *session, uint64_t *wire)
{
    const struct object *object = object_find(HANDLE_CONTEXT, context);
    *wire = object ? object->ctx.wire : 0;
    return !context || (object && object->session == session) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_CONTEXT;
}

// A kernel belongs to no context and runs in the current one.
static const struct object *context_for(const struct object *function)
{
    struct object *current;
    if (function->context)
        return object_find(HANDLE_CONTEXT, (void *)(uintptr_t)function->context);
    return thread_context_object(&current) == CUDA_SUCCESS ? current : NULL;
}

CUresult kernel_node_pack(const CUDA_KERNEL_NODE_PARAMS_v3 *node, struct box_session *session,
                          struct wire_kernel_node **out, size_t *size)
{
    CUlaunchConfig config = {.gridDimX = node->gridDimX,
                             .gridDimY = node->gridDimY,
                             .gridDimZ = node->gridDimZ,
                             .blockDimX = node->blockDimX,
                             .blockDimY = node->blockDimY,
                             .blockDimZ = node->blockDimZ,
                             .sharedMemBytes = node->sharedMemBytes};
    struct launch launch = {.config = &config,
                            .parameters = node->kernelParams,
                            .extra = node->extra};
    struct packed packed;
    uint64_t context;
    CUresult result;
    struct object *function = node_function(node, session, &result);
    struct parameter_layout *layout = function ? function_layout(function, &result) : NULL;
    if (!layout ||
        (result = launching_check_shape(&launch, context_for(function), layout)) != CUDA_SUCCESS ||
        (result = check_node_parameters(&launch, layout, &packed)) != CUDA_SUCCESS ||
        (result = node_context(node->ctx, session, &context)) != CUDA_SUCCESS)
        return result;
    struct wire_kernel_node *wire = malloc(sizeof(*wire) + layout->bytes);
    if (!wire)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *wire = (struct wire_kernel_node){
        .function = function->handle,
        .context = context,
        .grid = {config.gridDimX, config.gridDimY, config.gridDimZ},
        .block = {config.blockDimX, config.blockDimY, config.blockDimZ},
        .shared_bytes = config.sharedMemBytes,
        .bytes = layout->bytes,
    };
    copy_parameters(wire + 1, layout, node->kernelParams, &packed);
    if (atomic_load_explicit(&host_places_any, memory_order_relaxed))
        host_pointers_resolve(session, wire + 1, layout->bytes);
    *out = wire;
    *size = sizeof(*wire) + layout->bytes;
    return CUDA_SUCCESS;
}

void **kernel_node_unpack(struct object *function, const uint8_t *packed, size_t bytes)
{
    CUresult result;
    const struct parameter_layout *layout = function_layout(function, &result);
    if (!layout || bytes < layout->bytes)
        return NULL;
    void **pointers = malloc((layout->count + 1) * sizeof(void *) + layout->bytes);
    if (!pointers)
        return NULL;
    uint8_t *values = (uint8_t *)(pointers + layout->count + 1);
    memcpy(values, packed, layout->bytes);
    for (uint32_t i = 0; i < layout->count; i++)
        pointers[i] = values + layout->parameters[i].offset;
    pointers[layout->count] = NULL;
    return pointers;
}
