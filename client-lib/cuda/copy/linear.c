// SPDX-License-Identifier: BSD-3-Clause
// Chooses the path of a linear copy.
#include "client-lib/cuda/copy/copies.h"

#include "common/base/copy_path.h"
#include "client-lib/cuda/copy/flags.h"
#include "client-lib/cuda/copy/graph_copies.h"
#include "client-lib/cuda/copy/late_push.h"
#include "client-lib/cuda/copy/peer_copies.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/work/host_pointers.h"
#include "client-lib/cuda/work/detour.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/report/watch.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"

enum { POINTERS_MAX = 4096 }; // size of a copy that is searched for pointers to host memory

// Returns true if work under way may still write to page-locked memory at HOST.
static bool still_written(struct box_session *session, const void *host)
{
    struct allocation found;
    return (session_expecting(session) || staging_pending(session)) &&
           memory_find((uintptr_t)host, &found) && found.host;
}

static unsigned inline_bit(size_t size)
{
    return size <= WIRE_INLINE_MAX ? PATH_BIT(PATH_INLINE) : 0;
}

// One-sided is the only path by the device that makes a difference to this side.
static enum copy_path choose(const struct box_session *session, unsigned usable,
                             enum copy_path usual)
{
    unsigned forced = session->forced_paths;

    return copy_path_choose(usable, usual,
                            forced & PATH_BY_DEVICE ? forced | PATH_BIT(PATH_ONE_SIDED) : forced);
}

// Copies from memory that the box does not know; the data has left SRC when this returns. After a
// large copy that waits, streams that do not wait for the default one must see the data too, as
// with the driver. A small copy needs no such fence.
static CUresult send_now(struct box_session *session, CUdeviceptr dst, const void *src, size_t size,
                         CUstream stream, bool wait)
{
    enum copy_path usual = size <= session->memory->sent_max ? PATH_INLINE : PATH_STAGED;
    bool fence = wait && size > WIRE_INLINE_MAX;
    CUresult result;

    if (choose(session, PATH_BIT(PATH_STAGED) | inline_bit(size), usual) == PATH_INLINE)
        result = remote_write_rows(dst, size, size, 1, stream, src, size);
    else
        result = session->staging ? staged_to_device(session, dst, src, size, stream)
                                  : streamed_to_device(session, dst, src, size, stream);
    return result == CUDA_SUCCESS && fence ? copy_fence(session, stream) : result;
}

CUresult copy_host_to_device(struct box_session *session, CUdeviceptr dst, const void *src,
                             size_t size, CUstream stream, bool wait)
{
    uint64_t name;
    CUresult result = CUDA_SUCCESS;
    if (copy_shared_name(session, src, size, &name)) {
        result = remote_copy_to_device(dst, name, size, stream);
        return result == CUDA_SUCCESS && wait ? copy_fence(session, stream) : result;
    }
    if (size <= POINTERS_MAX && atomic_load_explicit(&host_places_any, memory_order_relaxed))
        host_pointers_seen(session, src, size);
    // Page-locked memory is read in stream order if anything may write to it until then.
    if (still_written(session, src)) {
        if (!wait && !session->staging && late_push(session, dst, src, size, stream, &result))
            return result;
        result = copy_fence(session, stream);
    }
    return result == CUDA_SUCCESS ? send_now(session, dst, src, size, stream, wait) : result;
}

// Copies to the host by PATH. NAME is the box's name of the target memory; 0: the box does not know
// it.
static CUresult linear_bring(struct box_session *session, enum copy_path path, void *dst,
                             uint64_t name, CUdeviceptr src, size_t size, CUstream stream,
                             bool wait)
{
    if (path == PATH_INLINE)
        return remote_read_rows(src, size, size, 1, stream, dst, size, &(size_t){0});
    if (name) {
        CUresult result = remote_copy_from_device(name, src, size, stream);
        return result == CUDA_SUCCESS && wait ? copy_fence(session, stream) : result;
    }
    return session->staging ? staged_from_device(session, dst, src, size, stream, wait, NULL)
                            : streamed_from_device(session, dst, src, size, stream, wait);
}

CUresult copy_device_to_host(struct box_session *session, void *dst, CUdeviceptr src, size_t size,
                             CUstream stream, bool wait)
{
    uint64_t name = 0;
    bool named = copy_shared_name(session, dst, size, &name);
    enum copy_path known = session->memory->maps_page_locked ? PATH_MAPPED : PATH_ONE_SIDED;
    // Memory that is not page-locked may be freed before the data arrive, so such copies are waited
    // for.
    struct allocation found;
    if (!named && !wait && !(memory_find((uintptr_t)dst, &found) && found.host))
        wait = true;
    enum copy_path usual = named                                  ? known
                           : size <= session->memory->replied_max ? PATH_INLINE
                                                                  : PATH_STAGED;
    unsigned usable = PATH_BIT(named ? known : PATH_STAGED) | (wait ? inline_bit(size) : 0);
    CUresult result =
        linear_bring(session, choose(session, usable, usual), dst, name, src, size, stream, wait);
    if (result == CUDA_SUCCESS && wait)
        idle_note_stream(session, stream);
    return result;
}

CUresult copy_device_to_host_in_parts(struct box_session *session, void *dst, CUdeviceptr src,
                                      size_t size, CUstream stream,
                                      const struct copy_progress *progress)
{
    if (session->staging && size > session->memory->replied_max)
        return staged_from_device(session, dst, src, size, stream, true, progress);
    CUresult result = copy_device_to_host(session, dst, src, size, stream, true);
    if (result == CUDA_SUCCESS)
        progress->arrived(progress->argument, dst, size);
    return result;
}

CUresult copy_begin(CUstream stream, struct box_session **session, CUstream *resolved)
{
    CUresult result = call_check_stream(stream, session, resolved);
    if (result != CUDA_SUCCESS || !before_work_duties())
        return result;
    const struct object *in = object_find(HANDLE_STREAM, *resolved);
    return before_work_sent(*session, in ? in->context : thread_context(), (uintptr_t)*resolved);
}

static CUresult check_device_memory(CUdeviceptr address, size_t size, struct allocation *found)
{
    return memory_find_span(address, size, found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Copies memory of another box than the stream's, by a helper stream there, in the order of STREAM.
static CUresult by_detour(const struct allocation *memory, CUdeviceptr device, void *host,
                          size_t size, CUstream stream, bool wait, bool to_gpu)
{
    struct object *there = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)memory->context);
    CUresult result = CUDA_SUCCESS;
    const struct object *waiting = copy_context_of_stream(stream, &result);
    struct detour detour;
    if (result == CUDA_SUCCESS && !there)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = detour_begin(&detour, stream, waiting, there);
    if (result != CUDA_SUCCESS)
        return result;
    result = to_gpu ? copy_host_to_device(memory->session, device, host, size, detour.helper, wait)
                    : copy_device_to_host(memory->session, host, device, size, detour.helper, wait);
    return detour_end(&detour, result);
}

// Copies in one direction between the program's memory and the GPU. Memory of another box than the
// current context's is copied in its own context, on that context's default stream. First this
// waits for the current context's default stream, since streams of two boxes do not wait for each
// other.
static CUresult linear_between(CUdeviceptr device, void *host, size_t size, CUstream stream,
                               bool wait, bool to_gpu)
{
    struct box_session *session;
    struct allocation memory;
    bool entered = false;
    CUresult result = copy_begin(stream, &session, &stream);
    if (result != CUDA_SUCCESS || !size)
        return result;
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    result = check_device_memory(device, size, &memory);
    // The address is host memory that the GPU does not know by another address.
    if (result == CUDA_SUCCESS && memory.host && !memory.mapped)
        return to_gpu ? copy_host_to_host(session, device, (uintptr_t)host, size, stream, wait)
                      : copy_host_to_host(session, (uintptr_t)host, device, size, stream, wait);
    if (result == CUDA_SUCCESS && graph_copy_wanted(session, stream, wait, &result)) {
        if (result == CUDA_SUCCESS && memory.session != session)
            result = CUDA_ERROR_NOT_SUPPORTED;
        struct side there = {.device = true, .address = device};
        struct side here = {.address = (uintptr_t)host};
        return result == CUDA_SUCCESS
                   ? graph_copy_capture_linear(session, to_gpu ? there : here,
                                               to_gpu ? here : there, size, stream)
                   : result;
    }
    if (result == CUDA_SUCCESS && memory.session != session && stream)
        return by_detour(&memory, device, host, size, stream, wait, to_gpu);
    if (result == CUDA_SUCCESS && memory.session != session) {
        result = copy_fence(session, stream);
        session = memory.session;
        wait = true;
        if (result == CUDA_SUCCESS)
            result = memory_enter(&memory, &entered);
    }
    if (result == CUDA_SUCCESS)
        result = to_gpu ? copy_host_to_device(session, device, host, size, stream, wait)
                        : copy_device_to_host(session, host, device, size, stream, wait);
    memory_leave(entered);
    if (result == CUDA_SUCCESS)
        watch_copied(to_gpu ? WATCH_TO_GPU : WATCH_FROM_GPU, size,
                     memory_is_page_locked((uintptr_t)host));
    return result;
}

CUresult copy_to_device(CUdeviceptr dst, const void *src, size_t size, CUstream stream, bool wait)
{
    return linear_between(dst, (void *)src, size, stream, wait, true);
}

CUresult copy_from_device(void *dst, CUdeviceptr src, size_t size, CUstream stream, bool wait)
{
    return linear_between(src, dst, size, stream, wait, false);
}
