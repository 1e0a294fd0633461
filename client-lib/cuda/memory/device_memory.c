// SPDX-License-Identifier: BSD-3-Clause
// Allocates and frees device memory.
#include "client-lib/cuda/memory/device_memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "client-lib/cuda/memory/chosen_addresses.h"
#include "client-lib/cuda/memory/kept_memory.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/call.h"
#include "client-lib/cuda/objects/before_work.h"
#include "client-lib/cuda/work/captures.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/report/tell.h"
#include "client-lib/cuda/objects/windows.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "cuda_ops.h"
#include "common/base/log.h"

enum { CLASH_RETRIES = 16, CLASHES_UNTIL_CHOICE = 4, PAGE = 4096, DRIVER_PAGE = 2 << 20 };

// Size of the memory that is held before the second and later tries, to move their addresses. It
// doubles each time.
#define STEP_FIRST ((size_t)2 << 20)
#define STEP_LAST ((size_t)1 << 30)

// One kind of allocation, with its parameters.
struct allocation_request {
    bool managed;
    CUdeviceptr whole; // out: the box's address, if it is another one
    CUresult (*allocate)(struct allocation_request *request, CUdeviceptr *dptr);
    CUresult (*release)(struct allocation_request *request, CUdeviceptr dptr);
    size_t size; // in: bytes requested; out: bytes that the allocation covers
    size_t width, height;
    unsigned int element;
    size_t pitch;
    CUmemoryPool pool;
    CUstream stream;
    bool ordered;  // in the order of the stream
    bool captured; // a graph is being captured, which will own the memory
};

static int device_memory_enter(CUdeviceptr base, const struct object *context,
                               const struct allocation_request *request)
{
    struct allocation allocation = {.of_graph = request->captured,
                                    .base = base,
                                    .size = request->size,
                                    .session = context->session,
                                    .context = context->ctx.root,
                                    .device = context->ctx.device,
                                    .ordered = request->ordered,
                                    .pool = request->pool,
                                    .managed = request->managed,
                                    .whole = request->whole};
    return memory_add(&allocation);
}

// Finds the context of a request: that of its stream, else the current one.
static CUresult context_of_request(const struct allocation_request *request,
                                   struct object **context)
{
    const struct object *stream = request->stream ? object_find(HANDLE_STREAM, request->stream)
                                                  : NULL;
    if (!stream)
        return thread_context_object(context);
    *context = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)stream->context);
    return *context ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static void device_memory_show(CUdeviceptr got)
{
    struct allocation memory;
    if (session_count > 1 && memory_find(got, &memory) && !memory.of_graph)
        windows_show(&memory);
}

// Allocates memory that moves the next try away from addresses that clash, since the driver places
// small allocations next to each other and the program may have many there. Returns 0 if the box
// has no memory for that or must not be asked.
static CUdeviceptr step_away(const struct allocation_request *request, int clashes)
{
    CUdeviceptr step = 0;
    size_t size = STEP_FIRST << clashes;
    if (request->stream || request->pool || request->captured)
        return 0;
    return remote_cuMemAlloc_v2(&step, size < STEP_LAST ? size : STEP_LAST) == CUDA_SUCCESS ? step
                                                                                            : 0;
}

// SIZE: 0 for the memory of a module, whose size only the driver knows.
static void tell_of_no_room(const struct box_session *session, size_t size)
{
    char what[64] = "a module";

    if (!session->budgeted)
        return;
    if (size)
        snprintf(what, sizeof(what), "an allocation of %zu bytes", size);
    tell_once("%s does not fit into the lease's share of GPU memory on box %s: ask "
              "for a larger share (srun --rgpu-mem, rgpuctl run --mem) or for a whole GPU",
              what, session->box);
}

// Returns true if the client may choose the addresses. Those of a pool, of a graph and of managed
// memory are the driver's to choose.
static bool may_choose(const struct allocation_request *request)
{
    return !request->managed && !request->pool && !request->captured;
}

// Memory at addresses that this process uses for something else. It is held until an allocation has
// succeeded, so that the box does not return it again.
struct clashes {
    CUdeviceptr held[CLASH_RETRIES], steps[CLASH_RETRIES]; // steps: 0: none
    int count;
};

// Enters what the box has allocated at GOT. -EAGAIN: it is held, and the caller tries again.
static int enter_or_hold(struct allocation_request *request, const struct object *context,
                         struct clashes *clashes, CUdeviceptr got)
{
    CUdeviceptr whole = request->whole ? request->whole : got;
    int err = device_memory_enter(got, context, request);
    if (!err)
        return 0;
    if (err == -EEXIST && clashes->count < CLASH_RETRIES) {
        clashes->steps[clashes->count] = step_away(request, clashes->count);
        clashes->held[clashes->count++] = whole;
        return -EAGAIN;
    }
    log_error("no usable device address address=0x%llx size=%zu error=\"%s\"",
              (unsigned long long)got, request->size, strerror(-err));
    request->release(request, whole);
    return err;
}

// Allocates, and again while addresses clash. The result is CUDA_ERROR_ALREADY_MAPPED if the client
// should choose them: the box's next ones are no better, or what is held is all that there is.
static CUresult allocate_apart(struct allocation_request *request, const struct object *context,
                               struct clashes *clashes, CUdeviceptr *dptr)
{
    CUresult result;
    int err = -EAGAIN;
    while (err == -EAGAIN) {
        do
            result = request->allocate(request, dptr);
        while (kept_make_room(result));
        if (result == CUDA_ERROR_OUT_OF_MEMORY && clashes->count && may_choose(request))
            return CUDA_ERROR_ALREADY_MAPPED;
        if (result != CUDA_SUCCESS)
            return result;
        err = enter_or_hold(request, context, clashes, *dptr);
        if (err == -EAGAIN && clashes->count == CLASHES_UNTIL_CHOICE && may_choose(request))
            return CUDA_ERROR_ALREADY_MAPPED;
    }
    return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void release_clashes(struct allocation_request *request, struct clashes *clashes)
{
    while (clashes->count) {
        request->release(request, clashes->held[--clashes->count]);
        if (clashes->steps[clashes->count])
            (void)remote_cuMemFree_v2(clashes->steps[clashes->count]);
    }
}

static CUresult allocate(struct allocation_request *request, CUdeviceptr *dptr)
{
    struct object *context;
    struct clashes clashes = {.count = 0};
    CUdeviceptr got;
    CUresult result = context_of_request(request, &context);
    if (result == CUDA_SUCCESS && !dptr)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    result = allocate_apart(request, context, &clashes, &got);
    release_clashes(request, &clashes);
    if (result == CUDA_ERROR_ALREADY_MAPPED)
        result = chosen_allocate(context->ctx.device, request->size, &got);
    else if (result == CUDA_SUCCESS)
        device_memory_show(got);
    if (result == CUDA_SUCCESS)
        *dptr = got;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        tell_of_no_room(context->session, request->size);
    return result;
}

static CUresult allocate_plain(struct allocation_request *request, CUdeviceptr *dptr)
{
    return remote_cuMemAlloc_v2(dptr, request->size);
}

static CUresult release_plain(struct allocation_request *request, CUdeviceptr dptr)
{
    return remote_cuMemFree_v2(dptr);
}

static bool device_memory_take_kept(const struct allocation_request *request,
                                    struct allocation *kept)
{
    struct object *context;
    if (context_of_request(request, &context) != CUDA_SUCCESS)
        return false;
    *kept = (struct allocation){.size = request->size,
                                .context = context->ctx.root,
                                .managed = request->managed,
                                .ordered = request->ordered,
                                .pool = request->pool};
    return kept_take(kept, request->stream);
}

// Enters kept memory as a new allocation.
static bool allocate_kept(struct allocation_request *request, CUdeviceptr *dptr)
{
    struct allocation kept;
    if (!dptr || !device_memory_take_kept(request, &kept))
        return false;
    *dptr = kept.base;
    if (!memory_add(&kept))
        return true;
    (void)request->release(request, kept.base);
    return false;
}

CUresult device_memory_allocate(CUdeviceptr *dptr, size_t size)
{
    struct allocation_request request = {.allocate = allocate_plain,
                                         .release = release_plain,
                                         .size = size};
    return allocate_kept(&request, dptr) ? CUDA_SUCCESS : allocate(&request, dptr);
}

// Allocates whole pages. Large allocations usually begin at a page; small ones begin anywhere, so a
// page more is allocated, and the bytes around the pages stay unused. Two of more than half of the
// driver's page would not fit into one, so each gets a whole one. Nothing small is freed here, as
// that waits for all of the GPU's work.
static CUresult allocate_pages(struct allocation_request *request, CUdeviceptr *dptr)
{
    size_t size;
    if (__builtin_add_overflow(request->size, 2 * PAGE, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    size = (request->size + PAGE - 1) & ~(size_t)(PAGE - 1);
    bool small = size + PAGE <= DRIVER_PAGE / 2;
    size_t whole = small ? size + PAGE : size < DRIVER_PAGE ? DRIVER_PAGE : size;
    CUresult result = remote_cuMemAlloc_v2(&request->whole, whole);
    if (result == CUDA_SUCCESS && !small && request->whole % PAGE) {
        (void)remote_cuMemFree_v2(request->whole);
        result = remote_cuMemAlloc_v2(&request->whole, whole + PAGE);
    }
    *dptr = (request->whole + PAGE - 1) & ~(CUdeviceptr)(PAGE - 1);
    return result;
}

CUresult device_memory_take_pages(size_t size, struct allocation *pages)
{
    CUdeviceptr base;
    struct allocation_request request = {
        .allocate = allocate_pages, .release = release_plain, .size = size, .managed = true};
    if (device_memory_take_kept(&request, pages))
        return CUDA_SUCCESS;
    CUresult result = allocate(&request, &base);
    if (result == CUDA_SUCCESS && !memory_remove(base, pages))
        result = CUDA_ERROR_UNKNOWN;
    return result;
}

static CUresult allocate_pitched(struct allocation_request *request, CUdeviceptr *dptr)
{
    CUresult result = remote_cuMemAllocPitch_v2(dptr, &request->pitch, request->width,
                                                request->height, request->element);
    request->size = request->pitch * request->height;
    return result;
}

CUresult device_memory_allocate_rows(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height,
                                     unsigned int element)
{
    struct allocation_request request = {.allocate = allocate_pitched,
                                         .release = release_plain,
                                         .width = width,
                                         .height = height,
                                         .element = element};
    CUresult result = allocate(&request, dptr);
    if (result == CUDA_SUCCESS)
        *pitch = request.pitch;
    return result;
}

static CUresult allocate_async(struct allocation_request *request, CUdeviceptr *dptr)
{
    if (request->pool)
        return remote_cuMemAllocFromPoolAsync(dptr, request->size, request->pool, request->stream);
    return remote_cuMemAllocAsync(dptr, request->size, request->stream);
}

static CUresult release_async(struct allocation_request *request, CUdeviceptr dptr)
{
    return remote_cuMemFreeAsync(dptr, request->stream);
}

static CUresult ask_captured(CUstream stream, bool *captured)
{
    struct object *context = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = CUDA_SUCCESS;
    if (captures_any() && thread_context_object(&context) == CUDA_SUCCESS)
        result = capture_status(context->session, stream, &status);
    *captured = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (*captured && context)
        atomic_store(&context->session->graphs_allocate, true);
    // During captures an allocation in a stream that is not captured is as unsafe as an ordinary
    // one.
    if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE && captures_any() &&
        capture_forbids())
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return result;
}

CUresult device_memory_allocate_async(CUdeviceptr *dptr, size_t size, CUmemoryPool pool,
                                      CUstream stream)
{
    struct allocation_request request = {.allocate = allocate_async,
                                         .release = release_async,
                                         .size = size,
                                         .ordered = true,
                                         .pool = pool,
                                         .stream = stream};
    struct box_session *session;
    CUstream resolved;
    CUresult found = call_check_stream(stream, &session, &resolved);
    if (!size && dptr) { // an allocation of 0 bytes; cuMemFreeAsync accepts its address
        if (found == CUDA_SUCCESS)
            *dptr = 0;
        return found;
    }
    CUresult result = ask_captured(stream, &request.captured);
    if (result != CUDA_SUCCESS)
        return result;
    if (found == CUDA_SUCCESS) // else the box's answer is the driver's
        request.stream = resolved;
    return found == CUDA_SUCCESS && allocate_kept(&request, dptr) ? CUDA_SUCCESS
                                                                  : allocate(&request, dptr);
}

CUresult device_memory_of_graph(CUdeviceptr dptr, size_t size, struct box_session *session,
                                CUdevice device, const struct object *context)
{
    struct allocation allocation = {.base = dptr,
                                    .size = size,
                                    .of_graph = true,
                                    .session = session,
                                    .context = context ? context->ctx.root : 0,
                                    .device = device};
    int err = memory_add(&allocation);
    atomic_store(&session->graphs_allocate, true);
    if (err)
        log_error("no usable address for memory of a graph address=0x%llx size=%zu error=\"%s\"",
                  (unsigned long long)dptr, size, strerror(-err));
    return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

// Forgets the allocation before it is freed: once the box has freed it, another thread may get the
// same address.
static bool device_memory_forget(CUdeviceptr dptr, struct allocation *gone)
{
    bool found = memory_find(dptr, gone) && !gone->host && !gone->memory &&
                 (!gone->imported || gone->pool) && !gone->managed && gone->base == dptr &&
                 (gone->of_graph || memory_remove(dptr, gone));
    if (found)
        windows_forget(dptr);
    return found;
}

// Returns true if the free request cannot fail, because the box itself gave the address, and only
// work of the GPU has to be waited for.
static bool is_sure(const struct allocation *gone)
{
    return !gone->pool && !gone->of_graph && !gone->imported && !captures_any() &&
           !session_expecting(gone->session) && session_knows(gone->session, OP_memory_free);
}

static bool is_of_current_context(const struct allocation *gone)
{
    struct object *context;
    return thread_context_object(&context) == CUDA_SUCCESS && context->ctx.root == gone->context;
}

static CUresult free_and_wait(const struct allocation *gone)
{
    uint64_t mark = idle_mark(gone->session);
    CUresult result;
    if (is_sure(gone) && kept_suits(gone) && is_of_current_context(gone)) {
        result = remote_cuCtxSynchronize();
        if (result != CUDA_SUCCESS)
            return result;
        idle_note_context(gone->session, mark);
        if (idle_is_known(gone->session) && kept_give(gone, NULL))
            return CUDA_SUCCESS;
    }
    before_work_memory_ends(gone);
    result = remote_cuMemFree_v2(memory_whole(gone));
    if (result == CUDA_SUCCESS)
        idle_note_context(gone->session, mark);
    return result;
}

static CUresult free_one(const struct allocation *gone)
{
    if (!is_sure(gone) || !idle_is_known(gone->session))
        return free_and_wait(gone);
    if (kept_give(gone, NULL))
        return CUDA_SUCCESS;
    before_work_memory_ends(gone);
    return remote_memory_free(memory_whole(gone));
}

CUresult device_memory_give_pages(const struct allocation *pages)
{
    bool entered;
    CUresult result = memory_enter(pages, &entered);
    if (result == CUDA_SUCCESS)
        result = free_one(pages);
    memory_leave(entered);
    return result;
}

CUresult device_memory_free(CUdeviceptr dptr)
{
    struct allocation gone;
    CUresult result;
    bool entered;
    if (chosen_free(dptr, &result))
        return result;
    if (!device_memory_forget(dptr, &gone))
        return CUDA_ERROR_INVALID_VALUE;
    result = memory_enter(&gone, &entered);
    if (result == CUDA_SUCCESS)
        result = free_one(&gone);
    memory_leave(entered);
    if (result == CUDA_ERROR_INVALID_VALUE && !gone.of_graph)
        (void)memory_add(&gone);
    return result;
}

// Keeps memory for later allocations in the same stream of its context.
static bool keep_in_order(const struct allocation *gone, CUstream stream)
{
    const struct allocation_request request = {.stream = stream};
    struct object *context;
    return gone->ordered && kept_suits(gone) && !session_expecting(gone->session) &&
           context_of_request(&request, &context) == CUDA_SUCCESS &&
           context->ctx.root == gone->context && kept_give(gone, stream);
}

CUresult device_memory_free_async(CUdeviceptr dptr, CUstream stream)
{
    struct allocation gone;
    struct box_session *session;
    CUstream resolved = stream;
    CUresult result = call_check_stream(stream, &session, &resolved);
    if (result != CUDA_SUCCESS || !dptr)
        return result;
    if (chosen_free_in(dptr, stream, &result))
        return result;
    if (!device_memory_forget(dptr, &gone))
        return CUDA_ERROR_INVALID_VALUE;
    // The box handles requests in order, so it cannot reuse this address before it has freed it.
    return keep_in_order(&gone, resolved) ? CUDA_SUCCESS
                                          : remote_cuMemFreeAsync(memory_whole(&gone), stream);
}
