// SPDX-License-Identifier: BSD-3-Clause
// The contexts of the program: each device's primary context, and those that the program creates.
#include "client-lib/cuda/objects/contexts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/libraries.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/objects/windows.h"
#include "client-lib/cuda/session/process.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "cuda_ops.h"
#include "common/driver/context_storage.h"
#include "common/base/scope.h"

enum { API_VERSION_DEFAULT = 3020, LEFT_BYTES_MAX = 256 << 20 };

// One device's primary context and the program's references to it.
struct primary {
    struct object *context; // made on first use, never retired
    unsigned int references;
    unsigned int flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary *primaries; // one per device, made on first use
static _Atomic uint64_t next_id = 1;

static struct object *contexts_find(CUcontext context)
{
    return object_find(HANDLE_CONTEXT, context);
}

static void contexts_adopt(struct object *object, CUdevice dev, unsigned int flags, bool primary)
{
    object->ctx.device = dev;
    object->ctx.flags = flags;
    object->ctx.primary = primary;
    object->ctx.wire = primary ? 0 : object->handle;
    object->ctx.api_version = API_VERSION_DEFAULT;
    object->ctx.id = atomic_fetch_add(&next_id, 1);
    object->ctx.root = object->handle;
    object->context = object->handle;
}

void context_enter_green(struct object *object, CUdevice dev, const struct object *root)
{
    contexts_adopt(object, dev, CU_CTX_MAP_HOST, false);
    object->ctx.green = true;
    object->ctx.root = root->handle;
}

static CUresult find_primary(CUdevice dev, struct primary **primary)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    struct box_session *session = session_of_device(dev);
    if (!session)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!primaries)
        primaries = calloc(DEVICES_MAX, sizeof(*primaries));
    if (!primaries)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!primaries[dev].context) {
        primaries[dev].context = object_new(HANDLE_CONTEXT, session, 0);
        if (!primaries[dev].context)
            return CUDA_ERROR_OUT_OF_MEMORY;
        contexts_adopt(primaries[dev].context, dev, 0, true);
    }
    *primary = &primaries[dev];
    return CUDA_SUCCESS;
}

CUresult primary_context(CUdevice dev, CUcontext *context)
{
    struct primary *primary;
    SCOPED_LOCK(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS)
        *context = (CUcontext)(uintptr_t)primary->context->handle;
    return result;
}

static void retire_child(void *argument, struct object *object)
{
    if (object->context == *(const uint64_t *)argument)
        object_retire(object->kind, object->handle);
}

static void end_green(void *argument, struct object *object)
{
    if (!object->ctx.green || object->ctx.root != *(const uint64_t *)argument)
        return;
    context_gone((CUcontext)(uintptr_t)object->handle);
    object_retire(HANDLE_CONTEXT, object->handle);
}

_Atomic uint64_t contexts_ended;

// Its green contexts end with it.
void context_gone(CUcontext context)
{
    static const enum handle_kind owned[] = {HANDLE_STREAM, HANDLE_EVENT, HANDLE_MODULE,
                                             HANDLE_LINK,   HANDLE_ARRAY, HANDLE_MIPMAP};
    uint64_t handle = (uintptr_t)context;
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        object_each(owned[i], retire_child, &handle);
    object_each(HANDLE_CONTEXT, end_green, &handle);
    code_forget_context(handle);
    context_storage_drop(context);
    if (before_work_duties())
        before_work_duties()->context_gone(handle);
    memory_forget_context((uintptr_t)context);
    windows_forget_context(handle);
    atomic_fetch_add(&contexts_ended, 1);
}

CUresult primary_retain(CUdevice dev, CUcontext *context)
{
    struct primary *primary;
    SCOPED_LOCK(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS && !primary->context->ctx.wire) {
        CUcontext wire;
        result = remote_cuDevicePrimaryCtxRetain(&wire, dev);
        if (result == CUDA_SUCCESS)
            primary->context->ctx.wire = (uintptr_t)wire;
    }
    if (result != CUDA_SUCCESS)
        return result;
    primary->references++;
    *context = (CUcontext)(uintptr_t)primary->context->handle;
    return CUDA_SUCCESS;
}

bool context_part_ends_later(struct box_session *session, uint16_t op)
{
    return idle_is_known(session) && !session_expecting(session) && session_knows(session, op);
}

bool context_is_sound(const struct object *context)
{
    return !atomic_load(&((struct object *)context)->ctx.sticky) &&
           !atomic_load(&context->session->lost);
}

// Returns true if the box may end the context after the call has returned: also, the next program
// on the GPU hardly misses its memory.
static bool may_end_later(const struct object *context)
{
    return !atomic_load(&((struct object *)context)->ctx.sticky) &&
           context_part_ends_later(context->session, OP_primary_release) &&
           memory_of_session(context->session) <= LEFT_BYTES_MAX;
}

static CUresult end_primary(CUdevice dev, bool reset, const struct object *context)
{
    if (reset)
        return remote_cuDevicePrimaryCtxReset_v2(dev);
    return may_end_later(context) ? remote_primary_release(dev)
                                  : remote_cuDevicePrimaryCtxRelease_v2(dev);
}

// The last release, and every reset, ends all objects of the context, but its handle stays valid.
// *GONE: the context that has ended, if one has.
static CUresult drop_locked(CUdevice dev, bool reset, CUcontext *gone)
{
    struct primary *primary;
    uint64_t wire = 0;
    SCOPED_LOCK(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS && !reset && !primary->references)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && (reset || primary->references == 1)) {
        wire = primary->context->ctx.wire;
        if (wire && before_work_duties())
            before_work_duties()->context_ends(primary->context->handle);
        if (wire)
            result = end_primary(dev, reset, primary->context);
    }
    if (result != CUDA_SUCCESS)
        return result;
    primary->references = reset ? 0 : primary->references - 1;
    if (wire) {
        primary->context->ctx.wire = 0;
        primary->context->ctx.sticky = 0;
        object_retire(HANDLE_CONTEXT, wire);
        *gone = (CUcontext)(uintptr_t)primary->context->handle;
    }
    return CUDA_SUCCESS;
}

CUresult primary_drop(CUdevice dev, bool reset)
{
    CUcontext gone = NULL;
    CUresult result = drop_locked(dev, reset, &gone);
    if (gone)
        context_gone(gone);
    return result;
}

CUresult primary_set_flags(CUdevice dev, unsigned int flags)
{
    struct primary *primary;
    SCOPED_LOCK(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS)
        result = remote_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
    if (result == CUDA_SUCCESS) {
        primary->flags = flags;
        primary->context->ctx.flags = flags;
    }
    return result;
}

CUresult primary_state(CUdevice dev, unsigned int *flags, int *active)
{
    struct primary *primary;
    SCOPED_LOCK(&lock);
    CUresult result = find_primary(dev, &primary);
    if (result == CUDA_SUCCESS) {
        *flags = primary->flags;
        *active = primary->context->ctx.wire != 0;
    }
    return result;
}

CUresult context_create(CUdevice dev, unsigned int flags, CUcontext *context)
{
    struct thread_state *thread = thread_state();
    CUcontext made;
    if (!thread || thread->depth == CONTEXT_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = remote_cuCtxCreate_v4(&made, NULL, flags, dev);
    if (result != CUDA_SUCCESS)
        return result;
    contexts_adopt(contexts_find(made), dev, flags, false);
    thread->contexts[thread->depth++] = (uintptr_t)made;
    *context = made;
    return CUDA_SUCCESS;
}

CUresult context_destroy(CUcontext context)
{
    struct object *object = contexts_find(context);
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!object)
        return object_missing(HANDLE_CONTEXT, context);
    if (object->ctx.primary || object->ctx.green)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (before_work_duties())
        before_work_duties()->context_ends(object->handle);
    CUresult result = remote_cuCtxDestroy_v2(context);
    if (result != CUDA_SUCCESS)
        return result;
    struct thread_state *thread = thread_state();
    if (thread && thread->depth && thread->contexts[thread->depth - 1] == (uintptr_t)context)
        thread->depth--;
    context_gone(context);
    return CUDA_SUCCESS;
}

CUresult context_named_or_current(CUcontext context, struct object **object)
{
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    if (!context)
        return thread_context_object(object);
    *object = contexts_find(context);
    return *object ? CUDA_SUCCESS : object_missing(HANDLE_CONTEXT, context);
}

CUresult context_within(CUcontext context, CUresult (*call)(void))
{
    struct object *object;
    if (!context)
        return call();
    CUresult result = context_named_or_current(context, &object);
    if (result == CUDA_SUCCESS)
        result = thread_push_context(context);
    if (result == CUDA_SUCCESS) {
        result = call();
        thread_pop_context(NULL);
    }
    return result;
}
