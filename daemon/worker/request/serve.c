// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/worker/request/serve.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "proto/wire.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/request/context_set.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"
#include "cuda_ops.h"
#include "worker_driver.h"

struct serve *serve_new(void)
{
    struct serve *serve = calloc(1, sizeof(*serve));

    if (!serve)
        return NULL;
    serve->record = aligned_alloc(64, WIRE_RECORD_MAX);
    serve->bytes = aligned_alloc(64, SERVE_BYTES_MAX);
    if (!serve->record || !serve->bytes)
        serve_free(&serve);
    return serve;
}

void serve_free(struct serve **serve)
{
    free((*serve)->record);
    free((*serve)->bytes);
    free(*serve);
    *serve = NULL;
}

void serve_fail(struct serve *serve, CUresult result)
{
    if (serve->result == CUDA_SUCCESS)
        serve->result = result;
}

bool serve_failed(const struct serve *serve)
{
    return serve->result != CUDA_SUCCESS;
}

bool serve_require(struct serve *serve, const void *function)
{
    if (!function)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    return function && !serve_failed(serve);
}

// ---- handles ----

// Functions of kernels and modules of libraries are those of one context, though they also die with
// their library.
static bool lives_in_context(enum handle_kind kind)
{
    return kind == HANDLE_STREAM || kind == HANDLE_EVENT || kind == HANDLE_MODULE ||
           kind == HANDLE_FUNCTION || kind == HANDLE_LINK || kind == HANDLE_ARRAY ||
           kind == HANDLE_MIPMAP;
}

static CUresult (*kernel_named)(struct serve *serve, uint64_t handle, CUkernel kernel);

void serve_watch_kernels(CUresult (*named)(struct serve *serve, uint64_t handle, CUkernel kernel))
{
    kernel_named = named;
}

void *serve_handle(struct serve *serve, enum handle_kind kind, uint64_t handle)
{
    if (kind == HANDLE_STREAM)
        atomic_store_explicit(&session.recent_stream, handle, memory_order_relaxed);
    if (kind == HANDLE_STREAM && handle <= 1)
        return (void *)(uintptr_t)handle;
    void *object = handle_find(session.handles, handle, kind);
    if (!object && kind == HANDLE_FUNCTION)
        object = handle_find(session.handles, handle, HANDLE_KERNEL);
    if (!object)
        serve_fail(serve, wire_wrong_handle(kind));
    if (object && kernel_named && handle_type(handle) == HANDLE_KERNEL)
        serve_fail(serve, kernel_named(serve, handle, object));
    if (object && kind == HANDLE_EXEC &&
        !context_set_lives(session.notes[handle_index(handle)].needs))
        serve_fail(serve, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return object;
}

uint64_t serve_context_of(const struct serve *serve, uint64_t handle)
{
    enum handle_kind kind = (enum handle_kind)handle_type(handle);

    return lives_in_context(kind) && handle_find(session.handles, handle, kind)
               ? session.notes[handle_index(handle)].context
               : serve_context(serve);
}

CUdevice serve_device(struct serve *serve, int32_t device)
{
    if (device >= 0 && (unsigned)device < session.device_count)
        return gpus.list[session.ordinals[device]].handle;
    serve_fail(serve, CUDA_ERROR_INVALID_DEVICE);
    return CU_DEVICE_INVALID;
}

uint64_t serve_context(const struct serve *serve)
{
    return serve->request->context;
}

void serve_bind(struct serve *serve, enum handle_kind kind, uint64_t handle, void *object,
                uint64_t parent)
{
    if (handle_type(handle) != (unsigned)kind || handle_bind(session.handles, handle, object)) {
        serve_fail(serve, CUDA_ERROR_INVALID_HANDLE);
        return;
    }
    session.notes[handle_index(handle)] = (struct handle_note){
        .parent = parent,
        .context = lives_in_context(kind) ? serve_context_of(serve, parent) : 0,
    };
}

static void forget_if_child(void *argument, uint64_t handle, void *object)
{
    uint64_t wanted = *(const uint64_t *)argument, parent = handle;

    if (session.notes[handle_index(handle)].context == wanted) {
        handle_release(session.handles, handle, handle_type(handle));
        return;
    }
    // Notes outlive their handles, so the chain holds even where its middle is gone already.
    for (unsigned depth = 0; depth < 4 && parent; depth++) {
        parent = session.notes[handle_index(parent)].parent;
        if (parent == wanted) {
            handle_release(session.handles, handle, handle_type(handle));
            return;
        }
    }
}

static void serve_forget_children(uint64_t parent)
{
    if (parent)
        handle_table_each(session.handles, 0, forget_if_child, &parent);
}

void serve_unbind(struct serve *serve, enum handle_kind kind, uint64_t handle)
{
    if (!handle_release(session.handles, handle, kind))
        return;
    if (kind == HANDLE_CONTEXT || kind == HANDLE_MODULE || kind == HANDLE_LIBRARY ||
        kind == HANDLE_ARRAY || kind == HANDLE_MIPMAP)
        serve_forget_children(handle);
}

struct object_search {
    const void *object;
    uint64_t found;
};

static void serve_compare(void *argument, uint64_t handle, void *object)
{
    struct object_search *search = argument;

    if (object == search->object)
        search->found = handle;
}

uint64_t serve_handle_of(enum handle_kind kind, const void *object)
{
    struct object_search search = {.object = object};

    handle_table_each(session.handles, kind, serve_compare, &search);
    return search.found;
}

// ---- data after the arguments ----

bool serve_bytes(struct serve *serve, const void *at, uint32_t length)
{
    if (length <= (size_t)(serve->end - (const uint8_t *)at))
        return true;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return false;
}

const char *serve_string(struct serve *serve, const void *at, uint32_t length)
{
    const char *text = at;

    if (!serve_bytes(serve, at, length))
        return NULL;
    if (length && text[length - 1] == '\0')
        return text;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

// ---- replies ----

void serve_reply(struct serve *serve, const void *reply, size_t size)
{
    if (size > sizeof(serve->fixed)) {
        log_error("op=%s reply=%zu is longer than a reply may be", cuda_op_name(serve->request->op),
                  size);
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
        return;
    }
    memcpy(serve->fixed, reply, size);
    serve->fixed_size = (uint32_t)size;
}

void serve_reply_bytes(struct serve *serve, const void *bytes, size_t size)
{
    if (size > SERVE_BYTES_MAX) {
        log_error("op=%s bytes=%zu is more than a reply carries", cuda_op_name(serve->request->op),
                  size);
        serve_fail(serve, CUDA_ERROR_UNKNOWN);
        return;
    }
    if (bytes != serve->bytes)
        memcpy(serve->bytes, bytes, size);
    serve->bytes_size = (uint32_t)size;
}

uint32_t serve_reply_room(const struct serve *serve, uint32_t wanted)
{
    return wanted < WIRE_INLINE_MAX ? wanted : WIRE_INLINE_MAX;
}

// ---- addresses ----

static bool known_by_driver(uint64_t address, uint64_t *start, uint64_t *end)
{
    CUmemorytype type = 0;
    CUdeviceptr base = 0;
    size_t size = 0;

    if (!driver.cuPointerGetAttribute ||
        driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) !=
            CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE ||
        driver.cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) !=
            CUDA_SUCCESS ||
        driver.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) !=
            CUDA_SUCCESS)
        return false;
    *start = base;
    *end = base + size;
    return address >= *start && address < *end;
}

bool serve_find_range(uint64_t address, uint64_t *start, uint64_t *end)
{
    return allocation_find(address, start, end) || known_by_driver(address, start, end);
}

bool serve_device_range(struct serve *serve, uint64_t address, uint64_t size)
{
    uint32_t epoch = atomic_load_explicit(&session.memory_epoch, memory_order_acquire);

    if (serve->known_epoch != epoch || address < serve->known_start ||
        address >= serve->known_end) {
        if (!serve_find_range(address, &serve->known_start, &serve->known_end)) {
            serve->known_end = 0;
            serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
            return false;
        }
        serve->known_epoch = epoch;
    }
    if (size <= serve->known_end - address)
        return true;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return false;
}
