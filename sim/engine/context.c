// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver/context_storage.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/engine/capture.h"
#include "sim/engine/memory.h"
#include "sim/mps/mps_client.h"
#include "sim/engine/stream.h"

static atomic_ullong next_context_id = 1;

static void set_default_limits(struct context *context)
{
    memset(context->limits, 0, sizeof(context->limits));
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    context->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
}

// Charges the device and starts the default stream.
static CUresult start_life(struct context *context, unsigned flags)
{
    SIM_TRY(arena_prepare(context->device));
    SIM_TRY(device_charge(context->device, device_config()->context_cost));
    CUresult result = stream_create(context, CU_STREAM_DEFAULT, 0, &context->legacy);
    if (result) {
        device_uncharge(context->device, device_config()->context_cost);
        return result;
    }
    context->legacy->legacy = true;
    context->flags = flags;
    atomic_store(&context->peers, 0);
    atomic_store(&context->heap_used, 0);
    atomic_store(&context->cancel, false);
    atomic_store(&context->settled, false);
    set_default_limits(context);
    atomic_store(&context->id, atomic_fetch_add(&next_context_id, 1));
    atomic_store(&context->fault, CUDA_SUCCESS);
    atomic_store(&context->destroyed, false);
    return CUDA_SUCCESS;
}

static void destroy_object(struct sim_object *object)
{
    struct context *context = (struct context *)object;
    pthread_mutex_destroy(&context->lock);
    pthread_mutex_destroy(&context->quiet);
    pthread_mutex_destroy(&context->print_lock);
    free(context->print_text);
    free(context);
}

CUresult context_start(struct device *device, unsigned flags, bool primary, struct context **out)
{
    struct context *context = calloc(1, sizeof(*context));
    SIM_RETURN_IF(!context, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&context->object, OBJECT_CONTEXT, NULL, destroy_object);
    context->device = device;
    context->primary = primary;
    context->api_version = 3020;
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->quiet, NULL);
    pthread_mutex_init(&context->print_lock, NULL);
    CUresult result = start_life(context, flags);
    if (!result) {
        result = handle_publish(&context->object);
        if (result)
            context_teardown(context);
    }
    if (result) {
        object_put(&context->object);
        return result;
    }
    *out = context;
    return CUDA_SUCCESS;
}

CUresult context_revive(struct context *context, unsigned flags)
{
    return start_life(context, flags);
}

CUresult context_status(const struct context *context)
{
    if (atomic_load(&context->destroyed))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult fault = (CUresult)atomic_load(&context->fault);
    return fault ? fault : mps_status();
}

void context_fail(struct context *context, CUresult fault)
{
    int none = CUDA_SUCCESS;
    if (!atomic_compare_exchange_strong(&context->fault, &none, (int)fault))
        return;
    mps_fault();
    log_info("context lost, device=%d error=%d", context->device->index, (int)fault);
}

void context_adopt(struct context *context, struct sim_object *object)
{
    SCOPED_LOCK(&context->lock);
    object->previous = NULL;
    object->next = context->objects;
    if (object->next)
        object->next->previous = object;
    context->objects = object;
}

void context_disown(struct context *context, struct sim_object *object)
{
    SCOPED_LOCK(&context->lock);
    if (object->previous)
        object->previous->next = object->next;
    else if (context->objects == object)
        context->objects = object->next;
    if (object->next)
        object->next->previous = object->previous;
    object->next = object->previous = NULL;
}

// Returns all streams of the context, with a reference each. Returns NULL and sets *count to 0
// without memory.
static struct stream **hold_streams(struct context *context, size_t *count)
{
    size_t n = 0;
    SCOPED_LOCK(&context->lock);
    for (struct stream *s = context->streams; s; s = s->next)
        n++;
    struct stream **streams = calloc(n ? n : 1, sizeof(struct stream *));
    *count = streams ? n : 0;
    n = 0;
    for (struct stream *s = context->streams; streams && s; s = s->next) {
        object_hold(&s->object);
        streams[n++] = s;
    }
    return streams;
}

static CUresult drain_streams(struct context *context, bool close)
{
    size_t count;
    struct stream **streams = hold_streams(context, &count);
    SIM_RETURN_IF(!streams, CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; close && i < count; i++) {
        capture_give_up(streams[i]);
        stream_close(streams[i]);
    }
    for (size_t i = 0; i < count; i++) {
        stream_drain(streams[i]);
        object_put(&streams[i]->object);
    }
    free(streams);
    return CUDA_SUCCESS;
}

CUresult context_finish_work(struct context *context)
{
    SIM_TRY(drain_streams(context, false));
    context_flush_print(context);
    return context_status(context);
}

CUresult context_quiesce(struct context *context)
{
    SCOPED_LOCK(&context->quiet);
    return context_finish_work(context);
}

CUresult context_quiesce_all(void)
{
    struct context *context;
    uint32_t position = 0;
    while ((context = handle_next(OBJECT_CONTEXT, &position))) {
        if (!atomic_load(&context->destroyed))
            context_quiesce(context);
        object_put(&context->object);
    }
    return CUDA_SUCCESS;
}

size_t context_limit(struct context *context, CUlimit limit)
{
    SCOPED_LOCK(&context->lock);
    return context->limits[limit];
}

static void release_objects(struct context *context)
{
    for (;;) {
        pthread_mutex_lock(&context->lock);
        struct sim_object *object = context->objects;
        if (object)
            object_hold(object);
        pthread_mutex_unlock(&context->lock);
        if (!object)
            return;
        if (handle_revoke(object))
            object_put(object);
        object_put(object);
    }
}

// Waits for memory values are abandoned, since no call may be left that would end them. Running
// kernels finish.
void context_teardown(struct context *context)
{
    if (atomic_exchange(&context->destroyed, true))
        return;
    atomic_store(&context->cancel, true);
    context_storage_drop(object_handle(&context->object));
    drain_streams(context, true);
    context_flush_print(context);
    release_objects(context);
    memory_release_context(context);
    object_put(&context->legacy->object);
    device_uncharge(context->device, device_config()->context_cost);
    device_uncharge(context->device, context->stream_memory * device_config()->stream_cost);
    context->stream_memory = 0;
}

void context_print(void *argument, const char *text, size_t size)
{
    struct context *context = argument;
    SCOPED_LOCK(&context->print_lock);
    size_t used = atomic_load(&context->print_used);
    if (context->print_size - used < size) {
        size_t capacity = 2 * context->print_size + size + 1024;
        char *grown = realloc(context->print_text, capacity);
        if (grown) {
            context->print_text = grown;
            context->print_size = capacity;
        }
    }
    if (context->print_size - used >= size) {
        memcpy(context->print_text + used, text, size);
        atomic_store(&context->print_used, used + size);
    }
}

void context_flush_print(struct context *context)
{
    if (!atomic_load(&context->print_used))
        return;
    pthread_mutex_lock(&context->print_lock);
    fwrite(context->print_text, 1, atomic_load(&context->print_used), stdout);
    atomic_store(&context->print_used, 0);
    pthread_mutex_unlock(&context->print_lock);
    fflush(stdout);
}
