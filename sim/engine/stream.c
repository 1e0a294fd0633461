// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/stream.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "common/base/log.h"
#include "common/base/scope.h"
#include "sim/engine/capture.h"
#include "sim/engine/checkpoint.h"
#include "sim/engine/default_stream.h"
#include "sim/engine/work_notes.h"

enum { QUEUE_DEPTH = 1020 };

static atomic_ullong next_stream_id = 1;

void *operation_create(size_t size, CUresult (*run)(struct operation *, struct stream *),
                       void (*release)(struct operation *))
{
    struct operation *operation = calloc(1, size);
    if (operation) {
        operation->run = run;
        operation->release = release;
    }
    return operation;
}

void operation_free(struct operation *operation)
{
    free(operation);
}

static void drop_waits(struct operation *operation)
{
    for (unsigned i = 0; i < operation->wait_count; i++)
        object_put(&operation->waits[i].stream->object);
    free(operation->waits);
    operation->waits = NULL;
    operation->wait_count = 0;
}

void operation_discard(struct operation *operation)
{
    drop_waits(operation);
    operation->release(operation);
}

CUresult operation_wait_for(struct operation *operation, struct stream *stream, uint64_t sequence)
{
    if (stream_reached(stream, sequence))
        return CUDA_SUCCESS;
    struct stream_point *waits =
        realloc(operation->waits, (operation->wait_count + 1) * sizeof(struct stream_point));
    SIM_RETURN_IF(!waits, CUDA_ERROR_OUT_OF_MEMORY);
    object_hold(&stream->object);
    waits[operation->wait_count].stream = stream;
    waits[operation->wait_count].sequence = sequence;
    operation->waits = waits;
    operation->wait_count++;
    return CUDA_SUCCESS;
}

CUresult operation_run(struct operation *operation, struct stream *stream, uint32_t correlation)
{
    if (!correlation || !operation->describe || !stream)
        return operation->run(operation, stream);
    struct work_note note = {0};
    struct work_place place = {.device = (uint32_t)stream->context->device->ordinal,
                               .context = (uint32_t)atomic_load(&stream->context->id),
                               .stream = (uint32_t)stream->id};
    operation->describe(operation, &note);
    uint64_t began = work_now();
    CUresult fault = operation->run(operation, stream);
    work_done(&note, &place, correlation, began);
    return fault;
}

bool stream_reached(const struct stream *stream, uint64_t sequence)
{
    return atomic_load_explicit(&stream->completed, memory_order_acquire) >= sequence;
}

uint64_t stream_submitted(struct stream *stream)
{
    SCOPED_LOCK(&stream->lock);
    uint64_t sequence = stream->submitted;
    return sequence;
}

// Waits until SEQUENCE may be completed. Without `awaited`, each operation would wake all threads
// that wait for later ones. Called under the lock.
static void await_progress(struct stream *stream, uint64_t sequence)
{
    if (!stream->awaited || sequence < stream->awaited)
        stream->awaited = sequence;
    pthread_cond_wait(&stream->progress, &stream->lock);
}

// Publishes the progress and wakes waiting threads. Called under the lock.
static void note_progress(struct stream *stream, uint64_t sequence)
{
    atomic_store_explicit(&stream->completed, sequence, memory_order_release);
    if (!stream->awaited || sequence < stream->awaited)
        return;
    stream->awaited = 0;
    pthread_cond_broadcast(&stream->progress);
}

void stream_wait(struct stream *stream, uint64_t sequence)
{
    if (!stream_reached(stream, sequence)) {
        SCOPED_LOCK(&stream->lock);
        while (!stream_reached(stream, sequence))
            await_progress(stream, sequence);
    }
    device_settle(stream->context->device);
}

void stream_drain(struct stream *stream)
{
    stream_wait(stream, stream_submitted(stream));
}

uint64_t stream_promise(struct stream *stream)
{
    SCOPED_LOCK(&stream->lock);
    return ++stream->submitted;
}

void stream_advance(struct stream *stream, uint64_t sequence)
{
    SCOPED_LOCK(&stream->lock);
    if (!stream_reached(stream, sequence))
        note_progress(stream, sequence);
}

// Runs an operation; no other function does. The stream is marked running, and no lock is held.
static void stream_execute(struct stream *stream, struct operation *operation)
{
    bool before = checkpoint_set_working(true);

    for (unsigned i = 0; i < operation->wait_count; i++)
        stream_wait(operation->waits[i].stream, operation->waits[i].sequence);
    drop_waits(operation);
    if (!atomic_load(&stream->context->fault) || operation->even_failed) {
        CUresult fault = operation_run(operation, stream, operation->correlation);
        if (fault)
            context_fail(stream->context, fault);
    }
    operation->release(operation);
    checkpoint_set_working(before);
}

// Marks an operation as completed. Called under the lock.
static void stream_complete(struct stream *stream, uint64_t sequence)
{
    stream->running = false;
    note_progress(stream, sequence);
    checkpoint_work_ended();
}

static void unlink_from_context(struct stream *stream)
{
    struct context *context = stream->context;
    SCOPED_LOCK(&context->lock);
    if (stream->previous)
        stream->previous->next = stream->next;
    else if (context->streams == stream)
        context->streams = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    stream->next = stream->previous = NULL;
}

static void *stream_thread(void *argument)
{
    struct stream *stream = argument;
    prctl(PR_SET_NAME, "sim-stream");
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->running || (!stream->head && !stream->closing))
            pthread_cond_wait(&stream->work, &stream->lock);
        struct operation *operation = stream->head;
        if (!operation)
            break;
        stream->head = operation->next;
        if (!stream->head)
            stream->tail = &stream->head;
        stream->running = true;
        uint64_t sequence = operation->sequence;
        pthread_mutex_unlock(&stream->lock);
        stream_execute(stream, operation);
        pthread_mutex_lock(&stream->lock);
        stream_complete(stream, sequence);
    }
    pthread_mutex_unlock(&stream->lock);
    unlink_from_context(stream);
    object_put(&stream->object);
    return NULL;
}

// Starts the stream's thread with signals blocked, so that the program's own threads receive them.
// Called under the lock.
static int stream_start_thread(struct stream *stream)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    object_hold(&stream->object);
    int error = pthread_create(&thread, NULL, stream_thread, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        atomic_fetch_sub(&stream->object.references, 1);
        log_error("cannot start a stream's thread, error=%d", error);
        return -error;
    }
    pthread_detach(thread);
    stream->has_thread = true;
    return 0;
}

static bool waits_are_met(const struct operation *operation)
{
    for (unsigned i = 0; i < operation->wait_count; i++)
        if (!stream_reached(operation->waits[i].stream, operation->waits[i].sequence))
            return false;
    return true;
}

// Runs an operation on this thread. Called under the lock, which it releases while the operation
// runs.
static void run_here(struct stream *stream, struct operation *operation)
{
    uint64_t sequence = operation->sequence;
    stream->running = true;
    pthread_mutex_unlock(&stream->lock);
    stream_execute(stream, operation);
    pthread_mutex_lock(&stream->lock);
    stream_complete(stream, sequence);
    if (stream->head)
        pthread_cond_signal(&stream->work);
}

static void await_quiet(struct context *context)
{
    SCOPED_LOCK(&context->quiet);
}

static CUresult submit(struct stream *stream, struct operation *operation, uint64_t *sequence)
{
    await_quiet(stream->context);
    CUresult result = capture_refuse(stream);
    if (!result)
        result = default_stream_order(stream, operation);
    if (result) {
        operation_discard(operation);
        return result;
    }
    if (work_is_noted())
        operation->correlation = work_correlation();
    pthread_mutex_lock(&stream->lock);
    // The real driver queues about as many operations; further submissions wait for the GPU.
    while (stream->submitted - atomic_load(&stream->completed) >= QUEUE_DEPTH && !stream->closing)
        await_progress(stream, stream->submitted - QUEUE_DEPTH + 1);
    if (stream->closing) {
        pthread_mutex_unlock(&stream->lock);
        operation_discard(operation);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    bool here = operation->brief && !stream->head && !stream->running && waits_are_met(operation);
    if (!here && !stream->has_thread && stream_start_thread(stream)) {
        pthread_mutex_unlock(&stream->lock);
        operation_discard(operation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    operation->sequence = ++stream->submitted;
    if (sequence)
        *sequence = operation->sequence;
    if (here) {
        run_here(stream, operation);
    } else {
        *stream->tail = operation;
        stream->tail = &operation->next;
        pthread_cond_signal(&stream->work);
    }
    pthread_mutex_unlock(&stream->lock);
    return CUDA_SUCCESS;
}

CUresult stream_submit(struct stream *stream, struct operation *operation, uint64_t *sequence)
{
    checkpoint_work_begins();
    CUresult result = submit(stream, operation, sequence);
    if (result)
        checkpoint_work_ended();
    return result;
}

CUresult stream_run(struct stream *stream, struct operation *operation)
{
    uint64_t sequence;
    SIM_TRY(stream_submit(stream, operation, &sequence));
    stream_wait(stream, sequence);
    context_flush_print(stream->context);
    return context_status(stream->context);
}

static void stream_destroy(struct sim_object *object)
{
    struct stream *stream = (struct stream *)object;
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->work);
    pthread_cond_destroy(&stream->progress);
    free(stream);
}

CUresult stream_create(struct context *context, unsigned flags, int priority, struct stream **out)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    SIM_RETURN_IF(!stream, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&stream->object, OBJECT_STREAM, context, stream_destroy);
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = atomic_fetch_add(&next_stream_id, 1);
    stream->tail = &stream->head;
    stream->synchronization_policy = CU_SYNC_POLICY_AUTO;
    stream->domain_map.remote = 1;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->work, NULL);
    pthread_cond_init(&stream->progress, NULL);

    pthread_mutex_lock(&context->lock);
    stream->next = context->streams;
    if (stream->next)
        stream->next->previous = stream;
    context->streams = stream;
    pthread_mutex_unlock(&context->lock);
    *out = stream;
    return CUDA_SUCCESS;
}

// The context keeps the stream in its list until the stream's work is done, so that waits include
// it.
void stream_close(struct stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool first = !stream->closing;
    stream->closing = true;
    pthread_cond_signal(&stream->work);
    bool idle = !stream->has_thread;
    pthread_mutex_unlock(&stream->lock);
    if (first && idle)
        unlink_from_context(stream);
}
