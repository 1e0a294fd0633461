// Contexts: primary and explicit ones, and each thread's stack of current ones.
#include <stdlib.h>

#include "client-lib/exports.h"
#include "client-lib/library.h"
#include "client-lib/memory.h"
#include "client-lib/object.h"
#include "client-lib/process.h"
#include "client-lib/session.h"
#include "client-lib/thread.h"
#include "common/driver/context_storage.h"
#include "common/driver/export_tables.h"

enum { API_VERSION_DEFAULT = 3020 };

// One device's primary context and the program's references to it.
struct primary {
    struct object *context; // made on first sight, never retired
    unsigned int references;
    unsigned int flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary *primaries; // one per device, made on first use
static _Atomic uint64_t next_id = 1;

static struct object *find(CUcontext context)
{
    return object_find(HANDLE_CONTEXT, context);
}

static void adopt(struct object *object, CUdevice dev, unsigned int flags, bool primary)
{
    object->ctx.device = dev;
    object->ctx.flags = flags;
    object->ctx.primary = primary;
    object->ctx.wire = primary ? 0 : object->handle;
    object->ctx.api_version = API_VERSION_DEFAULT;
    object->ctx.id = atomic_fetch_add(&next_id, 1);
    object->context = object->handle;
}

static CUresult find_primary(CUdevice dev, struct primary **primary)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    struct session *session = session_of_device(dev);
    if (!session)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!primaries)
        primaries = calloc((size_t)session_device_count, sizeof(*primaries));
    if (!primaries)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!primaries[dev].context) {
        primaries[dev].context = object_new(HANDLE_CONTEXT, session, 0);
        if (!primaries[dev].context)
            return CUDA_ERROR_OUT_OF_MEMORY;
        adopt(primaries[dev].context, dev, 0, true);
    }
    *primary = &primaries[dev];
    return CUDA_SUCCESS;
}

// For the private tables: the handle, whether the context is active or not.
CUresult export_table_primary_context(CUcontext *context, CUdevice device)
{
    struct primary *primary;
    pthread_mutex_lock(&lock);
    CUresult result = find_primary(device, &primary);
    if (result == CUDA_SUCCESS)
        *context = (CUcontext)(uintptr_t)primary->context->handle;
    pthread_mutex_unlock(&lock);
    return result;
}

static void retire_child(void *opaque, struct object *object)
{
    if (object->context == *(const uint64_t *)opaque)
        object_retire(object->kind, object->handle);
}

// What a context owned has gone with it on the box.
static void context_gone(CUcontext context)
{
    static const enum handle_kind owned[] = {HANDLE_STREAM, HANDLE_EVENT, HANDLE_MODULE,
                                             HANDLE_LINK};
    uint64_t handle = (uintptr_t)context;
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        object_each(owned[i], retire_child, &handle);
    code_forget_context(handle);
    context_storage_drop(context);
    memory_forget_context((uintptr_t)context);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct primary *primary;
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS && !primary->context->ctx.wire) {
        CUcontext wire;
        result = remote_cuDevicePrimaryCtxRetain(&wire, dev);
        if (result == CUDA_SUCCESS)
            primary->context->ctx.wire = (uintptr_t)wire;
    }
    if (result == CUDA_SUCCESS) {
        primary->references++;
        *pctx = (CUcontext)(uintptr_t)primary->context->handle;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

// The last release, and every reset, ends what the context holds. Its handle stays.
static CUresult drop_primary(CUdevice dev, bool reset)
{
    struct primary *primary;
    uint64_t wire = 0;
    pthread_mutex_lock(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS && !reset && !primary->references)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && (reset || primary->references == 1)) {
        wire = primary->context->ctx.wire;
        if (wire)
            result = reset ? remote_cuDevicePrimaryCtxReset_v2(dev)
                           : remote_cuDevicePrimaryCtxRelease_v2(dev);
    }
    CUcontext gone = NULL;
    if (result == CUDA_SUCCESS) {
        primary->references = reset ? 0 : primary->references - 1;
        if (wire) {
            primary->context->ctx.wire = 0;
            primary->context->ctx.sticky = 0;
            object_retire(HANDLE_CONTEXT, wire);
            gone = (CUcontext)(uintptr_t)primary->context->handle;
        }
    }
    pthread_mutex_unlock(&lock);
    if (gone)
        context_gone(gone);
    return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    return drop_primary(dev, false);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return drop_primary(dev, false);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    return drop_primary(dev, true);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return drop_primary(dev, true);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct primary *primary;
    pthread_mutex_lock(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS)
        result = remote_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
    if (result == CUDA_SUCCESS) {
        primary->flags = flags;
        primary->context->ctx.flags = flags;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct primary *primary;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS) {
        *flags = primary->flags;
        *active = primary->context->ctx.wire != 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags,
                        CUdevice dev)
{
    struct thread_state *thread = thread_state();
    if (!pctx || !thread || thread->depth == CONTEXT_STACK)
        return !pctx ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    // Pointers in the parameters would mean nothing on the box.
    if (params && (params->numExecAffinityParams || params->cigParams))
        return CUDA_ERROR_NOT_SUPPORTED;
    CUcontext context;
    CUresult result = remote_cuCtxCreate_v4(&context, NULL, flags, dev);
    if (result != CUDA_SUCCESS)
        return result;
    adopt(find(context), dev, flags, false);
    thread->contexts[thread->depth++] = (uintptr_t)context;
    *pctx = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                        unsigned int flags, CUdevice dev)
{
    CUctxCreateParams params = {.execAffinityParams = paramsArray,
                                .numExecAffinityParams = numParams};
    return cuCtxCreate_v4(pctx, numParams ? &params : NULL, flags, dev);
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return cuCtxCreate_v4(pctx, NULL, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    struct object *object = find(ctx);
    if (!object)
        return process_ready() == CUDA_SUCCESS ? CUDA_ERROR_INVALID_CONTEXT
                                               : process_ready();
    if (object->ctx.primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = remote_cuCtxDestroy_v2(ctx);
    if (result != CUDA_SUCCESS)
        return result;
    struct thread_state *thread = thread_state();
    if (thread && thread->depth && thread->contexts[thread->depth - 1] == (uintptr_t)ctx)
        thread->depth--;
    context_gone(ctx);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    struct object *context;
    if (!pctx || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = thread_context_object(&context);
    if (result == CUDA_SUCCESS)
        *pctx = (CUcontext)(uintptr_t)context->handle;
    return result;
}

CUresult cuCtxDetach(CUcontext ctx)
{
    return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!find(ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct thread_state *thread = thread_state();
    if (!thread || thread->depth == CONTEXT_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    thread->contexts[thread->depth++] = (uintptr_t)ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
    return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    struct thread_state *thread = thread_state();
    if (!thread || !thread->depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    thread->depth--;
    if (pctx)
        *pctx = (CUcontext)(uintptr_t)thread->contexts[thread->depth];
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
    return cuCtxPopCurrent_v2(pctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    struct thread_state *thread = thread_state();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!ctx) {
        thread->depth -= thread->depth ? 1 : 0;
        return CUDA_SUCCESS;
    }
    if (!find(ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!thread->depth)
        thread->depth = 1;
    thread->contexts[thread->depth - 1] = (uintptr_t)ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!pctx)
        return CUDA_ERROR_INVALID_VALUE;
    *pctx = (CUcontext)(uintptr_t)thread_context();
    return CUDA_SUCCESS;
}

// The context that was named, or the current one.
static CUresult named_or_current(CUcontext ctx, struct object **object)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!ctx)
        return thread_context_object(object);
    *object = find(ctx);
    return *object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct object *object;
    CUresult result = named_or_current(ctx, &object);
    if (result == CUDA_SUCCESS && !device)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *device = object->ctx.device;
    return result;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS && !flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *flags = object->ctx.flags;
    return result;
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

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct object *object;
    CUresult result = named_or_current(ctx, &object);
    if (result == CUDA_SUCCESS && !ctxId)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *ctxId = object->ctx.id;
    return result;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct object *object;
    CUresult result = named_or_current(ctx, &object);
    if (result == CUDA_SUCCESS && !version)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = object->ctx.api_version;
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

CUresult cuCtxSynchronize(void)
{
    return remote_cuCtxSynchronize();
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    if (!ctx)
        return remote_cuCtxSynchronize();
    CUresult result = cuCtxPushCurrent_v2(ctx);
    if (result == CUDA_SUCCESS) {
        result = remote_cuCtxSynchronize();
        cuCtxPopCurrent_v2(NULL);
    }
    return result;
}

// Bank sizes of shared memory have not been configurable since compute capability 5; the calls
// are kept by the driver for old programs.
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct object *object;
    CUresult result = thread_context_object(&object);
    if (result == CUDA_SUCCESS && !pConfig)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return result;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct object *object;
    return thread_context_object(&object);
}
