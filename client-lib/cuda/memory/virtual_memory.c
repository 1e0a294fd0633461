// SPDX-License-Identifier: BSD-3-Clause
// See virtual_memory.h. Mappings are in the address book, as all memory is; this file keeps the
// reservations.
#include "client-lib/cuda/memory/virtual_memory.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/physical_memory.h"
#include "client-lib/cuda/objects/ranges.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/objects/windows.h"
#include "client-lib/cuda/session/process.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"

enum { CLASH_RETRIES = 16, OPENED_AT_ONCE = 32 };

// Protects the reservations, and makes each mapping and unmapping one step for other threads.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ranges reservations; // value: the session that reserved it

// ---- reserving ----

// Finds the session for new addresses: that of the thread's context, since no argument names a box.
static CUresult session_in_use(struct box_session **session)
{
    struct object *context;
    CUresult ready = process_ready();
    if (ready == CUDA_SUCCESS)
        *session = thread_context_object(&context) == CUDA_SUCCESS ? context->session : sessions[0];
    return ready;
}

static int virtual_memory_enter(CUdeviceptr address, size_t size, struct box_session *session)
{
    SCOPED_LOCK(&lock);
    int err = memory_keep_free(address, size, session);
    return err ? err : ranges_add(&reservations, address, size, session);
}

// Reserves addresses, and again while this process uses the returned ones for something else. Those
// are held until the end, so that the box does not return them again.
CUresult virtual_reserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr wanted)
{
    CUdeviceptr clashing[CLASH_RETRIES], got = 0;
    struct box_session *session;
    int clashes = 0, err = -EEXIST;
    CUresult result = session_in_use(&session);
    while (result == CUDA_SUCCESS && err == -EEXIST && clashes < CLASH_RETRIES) {
        result = remote_memory_reserve(session->first_device, size, alignment, wanted, &got);
        if (result != CUDA_SUCCESS)
            break;
        err = virtual_memory_enter(got, size, session);
        if (err)
            clashing[clashes++] = got;
        wanted = 0;
    }
    if (result == CUDA_SUCCESS && err) {
        log_error("no usable device addresses size=%zu error=\"%s\"", size, strerror(-err));
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    while (clashes)
        remote_memory_unreserve(session->first_device, clashing[--clashes], size);
    if (result == CUDA_SUCCESS)
        *address = got;
    return result;
}

CUresult virtual_unreserve(CUdeviceptr address, size_t size)
{
    void *session;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    SCOPED_LOCK(&lock);
    const struct range *range = ranges_find(&reservations, address);
    if (!range || range->base != address || range->size != size || memory_overlaps(address, size))
        return CUDA_ERROR_INVALID_VALUE;
    ranges_remove(&reservations, address, &session);
    return remote_memory_unreserve(((struct box_session *)session)->first_device, address, size);
}

// ---- mapping ----

// Returns the session that has reserved all of these addresses, else NULL. The caller holds the
// lock.
static struct box_session *reserved_by(CUdeviceptr address, size_t size)
{
    const struct range *range = ranges_find(&reservations, address);
    return range && size <= range->size - (address - range->base) ? range->value : NULL;
}

static CUresult virtual_memory_check(CUdeviceptr address, size_t size, const struct object *memory)
{
    uint64_t unit = memory->memory.granularity;
    if (!size || size % unit || address % unit)
        return CUDA_ERROR_INVALID_VALUE;
    if (size != memory->memory.size)
        return CUDA_ERROR_NOT_SUPPORTED; // as the driver says of parts
    // A box can map its own memory only.
    if (reserved_by(address, size) != memory->session)
        return CUDA_ERROR_INVALID_VALUE;
    return memory_overlaps(address, size) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult virtual_memory_map(CUdeviceptr address, size_t size, const struct object *memory)
{
    struct object *context;
    struct allocation mapping = {.base = address,
                                 .size = size,
                                 .session = memory->session,
                                 .device = memory->memory.device,
                                 .memory = memory->handle};
    // A mapping belongs to no context, but copies from other boxes need one to reach it.
    if (thread_context_object(&context) == CUDA_SUCCESS && context->session == memory->session)
        mapping.context = context->ctx.root;
    if (memory_add(&mapping))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = remote_memory_map(memory->handle, address, size);
    if (result != CUDA_SUCCESS)
        memory_remove(address, &mapping);
    return result;
}

CUresult virtual_map(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle)
{
    struct object *memory;
    CUresult result = physical_map(handle, &memory);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    result = virtual_memory_check(address, size, memory);
    if (result == CUDA_SUCCESS)
        result = virtual_memory_map(address, size, memory);
    if (result != CUDA_SUCCESS)
        physical_unmap(handle);
    return result;
}

// Returns true if the range consists of whole mappings of one box, without a gap. The caller holds
// the lock.
static bool virtual_memory_is_whole(CUdeviceptr address, size_t size, struct allocation *first)
{
    struct allocation at = {.base = address};
    bool whole = memory_find(address, first) && size;
    while (whole && at.base + at.size - address < size) {
        uint64_t next = at.base + at.size;
        whole = memory_find(next, &at) && at.memory && at.base == next &&
                at.session == first->session;
    }
    return whole && at.base + at.size - address == size;
}

// Forgets a mapping before the box unmaps it, because after that another thread may map memory
// there.
static bool take_mapping(CUdeviceptr address, struct allocation *gone)
{
    SCOPED_LOCK(&lock);
    return memory_find(address, gone) && gone->memory && gone->base == address &&
           memory_remove(address, gone);
}

static CUresult unmap_all(CUdeviceptr address, size_t size)
{
    struct allocation gone;
    CUresult result = CUDA_SUCCESS;
    for (uint64_t at = address; at - address < size && result == CUDA_SUCCESS; at += gone.size) {
        if (!take_mapping(at, &gone))
            return CUDA_ERROR_INVALID_VALUE; // another thread has unmapped it
        windows_forget(at);
        result = remote_memory_unmap(gone.device, at, gone.size);
        physical_unmap(gone.memory);
    }
    return result;
}

CUresult virtual_unmap(CUdeviceptr address, size_t size)
{
    struct allocation first;
    CUresult ready = process_ready();
    if (ready != CUDA_SUCCESS)
        return ready;
    {
        SCOPED_LOCK(&lock);
        if (size && reserved_by(address, size) && !memory_overlaps(address, size))
            return CUDA_SUCCESS; // the driver accepts a repeated unmap
        if (!virtual_memory_is_whole(address, size, &first))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return unmap_all(address, size);
}

// ---- access ----

// Converts the device to the numbering of SESSION's box.
static CUresult virtual_memory_translate(const CUmemAccessDesc *access,
                                         const struct box_session *session, CUmemAccessDesc *theirs)
{
    struct box_session *owner;
    *theirs = *access;
    CUresult result = place_on_box(&access->location, &owner, &theirs->location.id);
    if (result == CUDA_SUCCESS && owner != session)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult virtual_open(CUdeviceptr address, size_t size, const CUmemAccessDesc *list, size_t count)
{
    CUmemAccessDesc theirs[OPENED_AT_ONCE];
    struct allocation first;
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    if (!list || !count || count > OPENED_AT_ONCE)
        return CUDA_ERROR_INVALID_VALUE;
    SCOPED_LOCK(&lock);
    if (!virtual_memory_is_whole(address, size, &first))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = virtual_memory_translate(&list[i], first.session, &theirs[i]);
    return result == CUDA_SUCCESS ? remote_memory_open(first.device, address, size, theirs, count)
                                  : result;
}

CUresult virtual_opened(CUdeviceptr address, const CUmemLocation *location,
                        unsigned long long *flags)
{
    struct box_session *session;
    struct allocation found;
    int number;
    CUresult result = place_on_box(location, &session, &number);
    if (result == CUDA_ERROR_INVALID_VALUE)
        return CUDA_ERROR_INVALID_DEVICE; // the driver's error for an invalid location
    if (result != CUDA_SUCCESS)
        return result;
    if (!memory_find(address, &found))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (!found.memory) { // plain memory is its device's
        if (found.device == location->id)
            *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return CUDA_SUCCESS;
    }
    // Devices of other boxes never have access.
    return found.session == session ? remote_memory_opened(location->id, address, flags)
                                    : CUDA_SUCCESS;
}

CUresult virtual_retain(CUdeviceptr address, CUmemGenericAllocationHandle *handle)
{
    struct allocation found;
    CUresult result = process_ready();
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    if (!memory_find(address, &found) || !found.memory)
        return CUDA_ERROR_INVALID_VALUE;
    result = physical_retain(found.memory);
    if (result == CUDA_SUCCESS)
        *handle = found.memory;
    return result;
}
