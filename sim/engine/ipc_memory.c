// SPDX-License-Identifier: BSD-3-Clause
// When an allocation is exported, its pages move into the file that all processes of the software
// GPU map. Processes with the handle map them from there.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "sim/engine/arena.h"
#include "sim/engine/ipc_memory.h"
#include "sim/engine/memory.h"
#include "sim/engine/shared_state.h"

#define PAGE ((uint64_t)4096)
#define HANDLE_MAGIC UINT64_C(0x72677075697063aa)

_Static_assert(sizeof(struct ipc_handle) <= sizeof(CUipcMemHandle), "what travels is a handle");

// Pages that lie in the file. Pages of small allocations stay there, because they hold other
// allocations, too.
struct moved {
    uint64_t start, end;
    struct shared_span span;
    struct moved *next;
};

// An import: opened COUNT times, at BASE.
struct import {
    struct ipc_handle handle;
    uint64_t base, start;
    unsigned count;
    // the importing context; another context maps the memory elsewhere
    const struct context *context;
    const struct memory_pool *pool;
    struct import *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards both lists
static struct moved *all_moved;
static struct import *imports;

static uint64_t page_of(uint64_t address)
{
    return address & ~(PAGE - 1);
}

static void *map_span(void *at, const struct shared_span *span)
{
    return mmap(at, span->size, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0),
                shared_state_file(), (off_t)span->offset);
}

static bool map_private(uint64_t start, size_t size)
{
    return mmap((void *)start, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

// ---- export ----

// Finds moved pages. Returns NULL unless they cover the range; *PART is true if they cover a part
// of it. Called under the lock.
static struct moved *find_moved(uint64_t start, uint64_t end, bool *part)
{
    *part = false;
    for (struct moved *at = all_moved; at; at = at->next) {
        if (at->start <= start && end <= at->end)
            return at;
        *part |= at->start < end && start < at->end;
    }
    return NULL;
}

// Moves pages into the span. No work that could write to them runs meanwhile.
static bool move_pages(uint64_t start, const struct shared_span *span)
{
    void *copy = map_span(NULL, span);
    if (copy == MAP_FAILED)
        return false;
    memcpy(copy, (const void *)start, span->size);
    munmap(copy, span->size);
    return map_span((void *)start, span) != MAP_FAILED;
}

static CUresult move_out(uint64_t start, uint64_t end, struct moved **out)
{
    struct moved *moved = calloc(1, sizeof(*moved));
    SIM_RETURN_IF(!moved, CUDA_ERROR_OUT_OF_MEMORY);
    moved->start = start;
    moved->end = end;
    if (shared_state_take_span(end - start, &moved->span)) {
        free(moved);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = context_quiesce_all();
    if (!result && !move_pages(start, &moved->span))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result) {
        shared_state_leave_span(&moved->span);
        free(moved);
        return result;
    }
    moved->next = all_moved;
    *out = all_moved = moved;
    return CUDA_SUCCESS;
}

CUresult ipc_memory_share(const struct memory_range *range, struct ipc_handle *handle)
{
    uint64_t start = page_of(range->base), end = page_of(range->base + range->size + PAGE - 1);
    bool part;
    SCOPED_LOCK(&lock);
    struct moved *moved = find_moved(start, end, &part);
    SIM_RETURN_IF(part, CUDA_ERROR_NOT_SUPPORTED); // it shares a page with an exported allocation
    if (!moved)
        SIM_TRY(move_out(start, end, &moved));
    *handle = (struct ipc_handle){.magic = HANDLE_MAGIC,
                                  .offset = moved->span.offset,
                                  .secret = moved->span.secret,
                                  .span_size = moved->span.size,
                                  .at = range->base - moved->start,
                                  .size = range->size,
                                  .ordinal = range->device->ordinal,
                                  .pid = getpid()};
    return CUDA_SUCCESS;
}

void ipc_memory_freed(uint64_t base, size_t size, bool own_pages)
{
    SCOPED_LOCK(&lock);
    for (struct moved **at = &all_moved; *at; at = &(*at)->next) {
        struct moved *moved = *at;
        if (moved->start != page_of(base) || base + size > moved->end || !own_pages)
            continue;
        *at = moved->next;
        map_private(moved->start, moved->span.size);
        shared_state_leave_span(&moved->span);
        free(moved);
        return;
    }
}

SIM_API(cuIpcGetMemHandle, CUipcMemHandle *out, CUdeviceptr address)
{
    struct context *context;
    struct memory_range range;
    struct ipc_handle handle;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!out || !memory_lookup(address, &range) || range.kind != MEMORY_DEVICE,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(ipc_memory_share(&range, &handle));
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

// ---- import ----

static struct import *find_import(const struct context *context, const struct memory_pool *pool,
                                  const struct ipc_handle *handle)
{
    struct import *at = imports;
    while (at && (at->context != context || at->pool != pool ||
                  memcmp(&at->handle, handle, sizeof(*handle))))
        at = at->next;
    return at;
}

static CUresult map_import(struct context *context, struct memory_pool *pool, struct import *import)
{
    struct shared_span span = {import->handle.offset, import->handle.span_size,
                               import->handle.secret};
    SIM_RETURN_IF(shared_state_join_span(&span), CUDA_ERROR_INVALID_HANDLE);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!arena_take(context->device->arena, span.size, PAGE, &import->start)) {
        if (map_span((void *)import->start, &span) != MAP_FAILED)
            result = memory_add_import(context, import->start + import->handle.at,
                                       import->handle.size, pool);
        if (result) {
            map_private(import->start, span.size);
            arena_give(context->device->arena, import->start, span.size);
        }
    }
    if (result)
        shared_state_leave_span(&span);
    import->base = import->start + import->handle.at;
    return result;
}

static bool ipc_memory_is_sound(const struct ipc_handle *handle)
{
    return handle->magic == HANDLE_MAGIC && handle->span_size && handle->span_size % PAGE == 0 &&
           handle->offset % PAGE == 0 && handle->size && handle->at <= handle->span_size &&
           handle->size <= handle->span_size - handle->at;
}

CUresult ipc_memory_open(struct context *context, struct memory_pool *pool,
                         const struct ipc_handle *handle, CUdeviceptr *address)
{
    SIM_RETURN_IF(!ipc_memory_is_sound(handle), CUDA_ERROR_INVALID_HANDLE);
    SCOPED_LOCK(&lock);
    struct import *import = find_import(context, pool, handle);
    if (!import) {
        import = calloc(1, sizeof(*import));
        SIM_RETURN_IF(!import, CUDA_ERROR_OUT_OF_MEMORY);
        import->handle = *handle;
        import->context = context;
        import->pool = pool;
        CUresult result = map_import(context, pool, import);
        if (result) {
            free(import);
            return result;
        }
        import->next = imports;
        imports = import;
    }
    import->count++;
    *address = import->base;
    return CUDA_SUCCESS;
}

SIM_API(cuIpcOpenMemHandle_v2, CUdeviceptr *address, CUipcMemHandle raw, unsigned int flags)
{
    struct context *context;
    struct ipc_handle handle;
    SIM_TRY(context_require(&context));
    SIM_RETURN_IF(!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS,
                  CUDA_ERROR_INVALID_VALUE);
    memcpy(&handle, &raw, sizeof(handle));
    SIM_RETURN_IF(!ipc_memory_is_sound(&handle), CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(handle.pid == getpid(), CUDA_ERROR_INVALID_CONTEXT);
    return ipc_memory_open(context, NULL, &handle, address);
}

void ipc_memory_closed(struct device *device, uint64_t base)
{
    SCOPED_LOCK(&lock);
    struct import **at = &imports;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    struct import *import = *at;
    if (!import)
        return;
    struct shared_span span = {import->handle.offset, import->handle.span_size,
                               import->handle.secret};
    *at = import->next;
    map_private(import->start, span.size);
    arena_give(device->arena, import->start, span.size);
    shared_state_leave_span(&span);
    free(import);
}

static bool is_import(const struct memory_range *range)
{
    return range->kind == MEMORY_IMPORTED && !range->pool;
}

static CUresult ipc_memory_drop_use(uint64_t address, bool *last)
{
    SCOPED_LOCK(&lock);
    struct import *at = imports;
    while (at && (at->base != address || at->pool))
        at = at->next;
    SIM_RETURN_IF(!at, CUDA_ERROR_INVALID_VALUE);
    *last = --at->count == 0;
    return CUDA_SUCCESS;
}

SIM_API(cuIpcCloseMemHandle, CUdeviceptr address)
{
    struct context *context;
    bool last;
    SIM_TRY(context_require(&context));
    SIM_TRY(ipc_memory_drop_use(address, &last));
    if (!last)
        return CUDA_SUCCESS;
    SIM_TRY(context_quiesce_all());
    return memory_release(address, is_import, NULL);
}
