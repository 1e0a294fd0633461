// SPDX-License-Identifier: BSD-3-Clause
// Functions and copies that graphs call. The thread that reads the link stores data for the
// program, so that they are there before any event that reports the graph's end. The thread of the
// host functions does all other work, in order.
#include "client-lib/cuda/work/callbacks.h"

#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/host_function.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/session/waiting.h"
#include "common/base/scope.h"
#include "cuda_ops.h"

static struct object *callbacks_make(struct box_session *session)
{
    struct object *callback = host_function_ready() ? object_new(HANDLE_CALLBACK, session, 0)
                                                    : NULL;
    if (callback)
        session_expect(session, 1);
    return callback;
}

uint64_t callback_function(struct box_session *session, CUhostFn function, void *data)
{
    struct object *callback = callbacks_make(session);
    if (!callback)
        return 0;
    callback->callback.function = function;
    callback->callback.data = data;
    return callback->handle;
}

uint64_t callback_destructor(struct box_session *session, CUhostFn function, void *data)
{
    uint64_t callback = callback_function(session, function, data);
    struct object *object = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)callback);
    if (object)
        object->callback.destructor = true;
    return callback;
}

void callback_names(uint64_t callback, CUuserObject object)
{
    struct object *of = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)callback);
    if (of)
        of->callback.user_object = (uintptr_t)object;
}

void callback_drop(uint64_t callback)
{
    struct object *object = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)callback);
    if (!object)
        return;
    struct box_session *session = object->session;
    object_retire(HANDLE_CALLBACK, callback);
    session_expect(session, -1);
}

// ---- copies ----

static void callbacks_copy_here(void *opaque)
{
    const struct callback_copy *copy = opaque;
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memmove(copy->host + z * copy->slice + y * copy->pitch,
                    copy->from + z * copy->from_slice + y * copy->from_pitch, copy->width);
}

static size_t copy_size(const struct callback_copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

// Moves SIZE packed bytes from OFFSET on between the rows and PACKED.
static void callbacks_move_rows(const struct callback_copy *copy, size_t offset, size_t size,
                                uint8_t *packed, bool store)
{
    while (size) {
        size_t row = offset / copy->width, column = offset % copy->width;
        size_t now = copy->width - column < size ? copy->width - column : size;
        uint8_t *host = copy->host + row / copy->height * copy->slice +
                        row % copy->height * copy->pitch + column;
        if (store)
            memcpy(host, packed, now);
        else
            memcpy(packed, host, now);
        offset += now;
        packed += now;
        size -= now;
    }
}

static bool in_one_piece(const struct callback_copy *copy)
{
    return (copy->height == 1 || copy->pitch == copy->width) &&
           (copy->depth == 1 || copy->slice == copy->width * copy->height);
}

static bool callbacks_send_block(struct box_session *session, uint64_t callback,
                                 const struct callback_copy *copy, size_t offset, size_t size,
                                 uint8_t *packed)
{
    struct {
        struct wire_request head;
        struct args_graph_block args;
    } record = {
        .head = {.size = sizeof(record), .op = OP_graph_block},
        .args = {.token = callback, .offset = offset, .size = size},
    };
    if (packed)
        callbacks_move_rows(copy, offset, size, packed, false);
    if (link_send_bulk(session->link, &record, sizeof(record),
                       packed ? packed : copy->host + offset, size) == 0)
        return true;
    session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, link_error(session->link));
    return false;
}

// Returns false if there is no memory; then nothing has been sent.
static bool send_blocks(struct box_session *session, uint64_t callback,
                        const struct callback_copy *copy)
{
    SCOPED_FREE uint8_t *packed = in_one_piece(copy) ? NULL : malloc(WIRE_BLOCK_SIZE);
    if (!packed && !in_one_piece(copy))
        return false;
    for (size_t offset = 0; offset < copy_size(copy); offset += WIRE_BLOCK_SIZE) {
        size_t left = copy_size(copy) - offset;
        if (session_lost(session) ||
            !callbacks_send_block(session, callback, copy, offset,
                                  left < WIRE_BLOCK_SIZE ? left : WIRE_BLOCK_SIZE, packed))
            break; // the session is lost, and the graph with it
    }
    return true;
}

static bool callbacks_send_part(struct box_session *session, uint64_t callback,
                                const struct callback_copy *copy, size_t offset)
{
    struct call call = {.session = session, .op = OP_graph_bytes};
    size_t left = copy_size(copy) - offset, size = left < WIRE_INLINE_MAX ? left : WIRE_INLINE_MAX;
    struct args_graph_bytes *args = call_reserve(&call, sizeof(*args) + size);
    if (!args)
        return false; // the session is lost, and the graph with it
    *args = (struct args_graph_bytes){.token = callback, .offset = offset, .bytes = (uint32_t)size};
    callbacks_move_rows(copy, offset, size, (uint8_t *)(args + 1), false);
    call_post(&call);
    return true;
}

static void ask_for_blocks(struct box_session *session)
{
    struct call call = {.session = session, .op = OP_graph_takes_blocks};
    if (session_knows(session, OP_graph_takes_blocks) && call_reserve(&call, 0))
        call_post(&call);
}

uint64_t callback_copy(struct box_session *session, const struct callback_copy *copy)
{
    if (!copy->from && !copy->to_device && !atomic_exchange(&session->takes_graph_blocks, true))
        ask_for_blocks(session);
    struct callback_copy *kept = malloc(sizeof(*kept));
    struct object *callback = kept ? callbacks_make(session) : NULL;
    if (!callback) {
        free(kept);
        return 0;
    }
    *kept = *copy;
    callback->callback.copy = kept;
    if (copy->from) {
        callback->callback.function = callbacks_copy_here;
        callback->callback.data = kept;
    }
    return callback->handle;
}

// After the last byte the graph continues and may end, so the callback must not be used any more.
static void send_source(void *opaque)
{
    const struct object *callback = opaque;
    struct box_session *session = callback->session;
    struct callback_copy copy = *callback->callback.copy;
    uint64_t handle = callback->handle;
    if (copy_size(&copy) > WIRE_INLINE_MAX && session_knows(session, OP_graph_block) &&
        send_blocks(session, handle, &copy)) {
        link_flush(session->link);
        return;
    }
    for (size_t offset = 0; offset < copy_size(&copy); offset += WIRE_INLINE_MAX)
        if (!callbacks_send_part(session, handle, &copy, offset))
            return;
    link_flush(session->link);
}

// ---- events of the box ----

static struct object *callbacks_find(struct box_session *session, uint64_t handle)
{
    struct object *callback = object_find(HANDLE_CALLBACK, (void *)(uintptr_t)handle);
    return callback && callback->session == session ? callback : NULL;
}

static bool function_due(struct box_session *session, const struct wire_host_function *event)
{
    const struct object *callback = callbacks_find(session, event->token);
    return callback && callback->callback.function && !callback->callback.destructor &&
           host_function_queue(session, event->token, callback->callback.function,
                               callback->callback.data);
}

void callback_due(struct box_session *session, const struct wire_host_function *event)
{
    if (!host_function_due(session, event) && !function_due(session, event))
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE,
                     "a host function that was not asked for");
}

// Returns true if the copy may store SIZE bytes at the offset that the box names.
static bool may_store(const struct callback_copy *copy, const struct wire_callback *body,
                      uint64_t size)
{
    return copy && !copy->from && !copy->to_device && body->offset <= copy_size(copy) &&
           size <= copy_size(copy) - body->offset;
}

static bool callbacks_store(const struct callback_copy *copy, const struct wire_callback *body,
                            const void *data, uint32_t bytes)
{
    if (!may_store(copy, body, bytes))
        return false;
    callbacks_move_rows(copy, body->offset, bytes, (uint8_t *)(uintptr_t)data, true);
    return true;
}

static bool store_block(struct box_session *session, const struct callback_copy *copy,
                        const struct wire_callback *body)
{
    if (!may_store(copy, body, body->size) || body->size > WIRE_BLOCK_SIZE)
        return false;
    if (in_one_piece(copy))
        return link_receive_bulk(session->link, copy->host + body->offset, body->size) == 0;
    SCOPED_FREE uint8_t *packed = malloc(body->size ? body->size : 1);
    if (!packed || link_receive_bulk(session->link, packed, body->size))
        return false;
    callbacks_move_rows(copy, body->offset, body->size, packed, true);
    return true;
}

static bool callbacks_end(struct box_session *session, const struct object *callback)
{
    bool fine =
        !callback->callback.destructor ||
        host_function_queue(session, 0, callback->callback.function, callback->callback.data);
    object_retire(HANDLE_USER_OBJECT, callback->callback.user_object);
    object_retire(HANDLE_CALLBACK, callback->handle);
    session_expect(session, -1);
    return fine;
}

static bool callbacks_act(struct box_session *session, enum wire_event_kind kind,
                          const struct wire_callback *body, const void *data, uint32_t bytes)
{
    struct object *callback = callbacks_find(session, body->callback);
    // If its request failed here, the host node has been released already.
    if (kind == EVENT_GRAPH_GONE)
        return !callback || callbacks_end(session, callback);
    if (!callback)
        return false;
    if (kind == EVENT_GRAPH_DATA)
        return callbacks_store(callback->callback.copy, body, data, bytes);
    if (kind == EVENT_GRAPH_BLOCK)
        return store_block(session, callback->callback.copy, body);
    return callback->callback.copy && !callback->callback.function &&
           callback->callback.copy->to_device &&
           host_function_queue(session, 0, send_source, callback);
}

void callback_event(struct box_session *session, enum wire_event_kind kind,
                    const struct wire_callback *body, const void *data, uint32_t bytes)
{
    if (!callbacks_act(session, kind, body, data, bytes))
        session_fail(session, CUDA_ERROR_DEVICE_UNAVAILABLE, "a call that no graph makes");
}
