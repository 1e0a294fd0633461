// SPDX-License-Identifier: BSD-3-Clause
// Implements mapped_host.h. Memory that has a mirror from the beginning has a protected program
// view (mirror.h), at the same address on both sides. Memory that the program uses already cannot
// be protected: a system call or another thread may be at work on it. So it is compared
// (compared_memory.h). Memory of the program's own may have another address on the GPU.
// docs/guide/managed.md says when a mirror comes into being.
#include "client-lib/cuda/managed/mapped_host.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "client-lib/cuda/managed/coherence.h"
#include "client-lib/cuda/managed/compared_memory.h"
#include "client-lib/cuda/managed/mirror.h"
#include "client-lib/cuda/managed/polled_memory.h"
#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/known_idle.h"
#include "client-lib/cuda/objects/out_of_reach.h"
#include "client-lib/cuda/memory/page_locked.h"
#include "client-lib/cuda/memory/regions.h"
#include "client-lib/cuda/session/staging_blocks.h"
#include "client-lib/cuda/session/waiting.h"
#include "client_calls.h"
#include "common/base/scope.h"

enum { PLACE_RETRIES = 16 };

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static uint64_t page_down(uint64_t address)
{
    return address & ~(uint64_t)(MIRROR_PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
    return page_down(address + MIRROR_PAGE - 1);
}

// Reservations of addresses that the box refused. They are held until an address is found, so that
// mmap does not return them again.
struct refused_places {
    void *places[PLACE_RETRIES];
    int count;
    size_t size;
};

static void mapped_host_give_up(struct refused_places *refusals)
{
    while (refusals->count)
        munmap(refusals->places[--refusals->count], refusals->size);
}

// Makes the box create its copy at an address that is free on both sides, and reserves *PLACE here.
// Tries WISHED first, unless it is 0.
static CUresult make_part(struct allocation *memory, size_t size, uint64_t wished, void **place)
{
    struct refused_places refusals = {.size = size};
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    memory->region = region_take();
    if (!memory->region)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *place = NULL;
    if (wished)
        result = remote_host_mirror(wished, size, memory->region, &memory->device_address);
    while (result == CUDA_ERROR_ALREADY_MAPPED && refusals.count < PLACE_RETRIES) {
        void *at = page_locked_hold_place(size);
        if (!at) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        result = remote_host_mirror((uintptr_t)at, size, memory->region, &memory->device_address);
        if (result == CUDA_SUCCESS)
            *place = at;
        else
            refusals.places[refusals.count++] = at;
    }
    mapped_host_give_up(&refusals);
    if (result != CUDA_SUCCESS)
        region_give(memory->region);
    return result;
}

static CUresult end_mirror(uint32_t region)
{
    CUresult result = remote_host_mirror_end(region);
    if (result == CUDA_SUCCESS)
        region_give(region);
    return result;
}

// ---- allocated memory ----

static CUresult mapped_host_enter(const struct allocation *memory)
{
    const struct mirror_place place = {.base = memory->base,
                                       .size = memory->size,
                                       .session = memory->session,
                                       .context = memory->context,
                                       .fresh = true,
                                       .region = memory->region};
    coherence_begin();
    CUresult result = mirror_add(&place);
    if (result == CUDA_SUCCESS && memory_add(memory)) {
        (void)mirror_remove(memory->base);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return result;
}

CUresult mapped_host_allocate(const struct object *context, size_t bytes, unsigned int flags,
                              void **memory)
{
    struct allocation made = {.size = page_up(bytes),
                              .host = true,
                              .mapped = true,
                              .mirrored = true,
                              .host_flags = flags,
                              .session = context->session,
                              .context = context->ctx.root,
                              .device = context->ctx.device};
    void *place;
    if (made.size < bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = make_part(&made, made.size, 0, &place);
    if (result != CUDA_SUCCESS)
        return result;
    made.base = (uintptr_t)place;
    result = mapped_host_enter(&made);
    if (result == CUDA_SUCCESS) {
        out_of_reach_mirrored(context->session);
        *memory = place;
        return CUDA_SUCCESS;
    }
    (void)end_mirror(made.region);
    munmap(place, made.size);
    return result;
}

// ---- memory that the program has already ----

static CUresult open_once(struct allocation *memory)
{
    void *held;
    uint64_t page = page_down(memory->base);
    size_t size = page_up(memory->base + memory->size) - page;
    CUresult result = make_part(memory, size, page, &held);
    if (result != CUDA_SUCCESS)
        return result;
    memory->region_offset = (uint32_t)(memory->base - page);
    memory->elsewhere = 0;
    if (held) {
        munmap(held, size);
        result = page_locked_enter_elsewhere(memory, (uintptr_t)held, size, true);
        memory->elsewhere = result == CUDA_SUCCESS ? (uintptr_t)held : 0;
    }
    if (result == CUDA_SUCCESS)
        result = compared_add(memory);
    coherence_begin();
    polled_begin();
    memory->device_address += memory->region_offset;
    if (result == CUDA_SUCCESS && memory_set_mirror(memory->base, memory))
        return CUDA_SUCCESS;
    struct allocation other;
    (void)end_mirror(memory->region);
    if (memory->elsewhere)
        (void)memory_remove(memory->elsewhere, &other);
    (void)compared_remove(memory->base);
    return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : result;
}

// Retries elsewhere if this process turns out to use the address.
static CUresult mapped_host_open_part(struct allocation *memory)
{
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    for (int tries = 0; result == CUDA_ERROR_ALREADY_MAPPED && tries < PLACE_RETRIES; tries++)
        result = open_once(memory);
    return result;
}

// Waits for copies in flight that may read or write the memory without the mirror. The end of the
// box's one-sided copies is not noted, so memory that had any waits for all work. Otherwise a
// kernel may be running that waits for the program, and must not be waited for.
static CUresult await_copies(const struct allocation *memory)
{
    struct box_session *session = memory->session;
    bool copied = memory->reached ? memory->copied && !idle_is_known(session)
                                  : session_expecting(session) || staging_pending(session);
    // While a stream is captured nothing can be waited for.
    return copied && !atomic_load_explicit(&session->captures, memory_order_relaxed)
               ? remote_cuCtxSynchronize()
               : CUDA_SUCCESS;
}

CUresult mapped_host_open(const void *memory)
{
    struct allocation found;
    bool entered;
    SCOPED_LOCK(&opening);
    if (!memory_find((uintptr_t)memory, &found) || !found.host || !found.session->mirrors_on_demand)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (found.mapped)
        return CUDA_SUCCESS;
    CUresult result = memory_enter(&found, &entered);
    if (result == CUDA_SUCCESS)
        result = await_copies(&found);
    if (result == CUDA_SUCCESS)
        result = mapped_host_open_part(&found);
    memory_leave(entered);
    return result;
}

// Ends the mirror of memory that is compared, which is ordinary page-locked memory again.
static void close_part(const struct allocation *memory)
{
    bool entered;
    struct allocation other;
    bool lives = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)memory->context) &&
                 memory_enter(memory, &entered) == CUDA_SUCCESS;
    if (lives) // waits for running work and fetches what it wrote
        (void)remote_cuCtxSynchronize();
    uint32_t region = compared_remove(memory->base);
    if (lives) {
        if (region)
            (void)end_mirror(region);
        memory_leave(entered);
    }
    if (memory->elsewhere)
        (void)memory_remove(memory->elsewhere, &other);
    (void)memory_set_mirror(memory->base, NULL);
}

// ---- release ----

// Waits for running work and fetches what it wrote.
static CUresult end_part(const struct allocation *memory)
{
    bool entered;
    CUresult result = memory_enter(memory, &entered);
    if (result != CUDA_SUCCESS)
        return result;
    CUresult worked = remote_cuCtxSynchronize();
    (void)mirror_remove(memory->base);
    result = end_mirror(memory->region);
    memory_leave(entered);
    return worked == CUDA_SUCCESS ? result : worked;
}

bool mapped_host_release(void *memory, bool registered, CUresult *result)
{
    struct allocation gone;
    if (!memory_find((uintptr_t)memory, &gone) || !gone.host || !gone.mirrored ||
        gone.base != (uintptr_t)memory || gone.registered != registered)
        return false;
    if (registered || !gone.session->mirrors_host) {
        close_part(&gone);
        return false;
    }
    // Otherwise the box's copy went with its context.
    *result = object_find(HANDLE_CONTEXT, (void *)(uintptr_t)gone.context) ? end_part(&gone)
                                                                           : CUDA_SUCCESS;
    (void)mirror_remove(gone.base);
    if (memory_remove(gone.base, &gone))
        munmap(memory, gone.size);
    return true;
}
