// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/scope.h"
#include "sim/engine/arena.h"
#include "sim/engine/ipc_memory.h"
#include "sim/engine/memory_pool.h"
#include "sim/engine/physical_pieces.h"

#define GRANULE ((size_t)512)
#define PAGE ((size_t)4096)
#define LARGE ((size_t)64 << 10)
#define ALIGNED ((size_t)1 << 20)
#define HUGE ((size_t)2 << 20)

static struct {
    pthread_rwlock_t lock;
    struct memory_range **ranges; // by address
    size_t count;
    size_t capacity;
    uint64_t next_id;
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER, .next_id = 1};

size_t memory_rounded(size_t size)
{
    return (size + GRANULE - 1) & ~(GRANULE - 1);
}

// Returns the arena bytes of an allocation; large ones get their own pages.
static size_t arena_size(size_t size)
{
    size_t unit = size >= LARGE ? PAGE : GRANULE;
    return (size + unit - 1) & ~(unit - 1);
}

static size_t arena_alignment(size_t size)
{
    return size >= HUGE ? HUGE : size >= LARGE ? PAGE : GRANULE;
}

// As on an H200, plain memory that is not ALIGNED begins anywhere in a page.
static size_t range_offset(const struct memory_range *range)
{
    return range->kind == MEMORY_DEVICE && range->size >= LARGE && range->size < ALIGNED ? GRANULE
                                                                                         : 0;
}

static size_t range_size(const struct memory_range *range)
{
    return arena_size(memory_is_managed(range) && range->size < LARGE
                          ? LARGE
                          : range_offset(range) + range->size);
}

static void give_addresses(const struct memory_range *range)
{
    arena_give(range->device->arena, range->base - range_offset(range), range_size(range));
}

CUresult arena_prepare(struct device *device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    SCOPED_LOCK(&lock);
    if (!device->arena)
        device->arena = arena_create(device->total_memory);
    CUresult result = device->arena ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

// Returns the index of the first range that starts after `address`. Called under the lock.
static size_t upper_bound(uint64_t address)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table.ranges[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Returns the range that holds the address. A range of size 0 holds its first address. Called under
// the lock.
static struct memory_range *find(uint64_t address)
{
    size_t at = upper_bound(address);
    if (!at)
        return NULL;
    struct memory_range *range = table.ranges[at - 1];
    return address - range->base < range->size ? range : NULL;
}

// Returns true if any range overlaps [base, base + size). Called under the lock.
static bool any_range(uint64_t base, size_t size)
{
    size_t next = upper_bound(base);
    return find(base) || (next < table.count && table.ranges[next]->base - base < size);
}

// Inserts a range, which the table then owns. Called under the write lock.
static CUresult memory_insert(struct memory_range *range)
{
    if (table.count == table.capacity) {
        size_t capacity = table.capacity ? 2 * table.capacity : 64;
        struct memory_range **ranges =
            realloc(table.ranges, capacity * sizeof(struct memory_range *));
        SIM_RETURN_IF(!ranges, CUDA_ERROR_OUT_OF_MEMORY);
        table.ranges = ranges;
        table.capacity = capacity;
    }
    size_t at = upper_bound(range->base);
    memmove(&table.ranges[at + 1], &table.ranges[at],
            (table.count - at) * sizeof(struct memory_range *));
    table.ranges[at] = range;
    table.count++;
    range->id = table.next_id++;
    return CUDA_SUCCESS;
}

// Removes a range. Called under the write lock.
static void memory_remove_at(size_t at)
{
    table.count--;
    memmove(&table.ranges[at], &table.ranges[at + 1],
            (table.count - at) * sizeof(struct memory_range *));
}

static const struct memory_graph_ops *graph_ops;

void memory_set_graph_ops(const struct memory_graph_ops *ops)
{
    __atomic_store_n(&graph_ops, ops, __ATOMIC_RELEASE);
}

CUresult memory_graph_begin_free(const struct memory_range *range)
{
    return graph_ops->begin_free(range->base);
}

void memory_graph_finish_free(uint64_t base)
{
    graph_ops->finish_free(base);
}

static bool memory_trim(struct device *device)
{
    const struct memory_graph_ops *ops = __atomic_load_n(&graph_ops, __ATOMIC_ACQUIRE);
    bool trimmed = pool_trim_device(device);
    return (ops && ops->trim(device)) || trimmed;
}

static struct memory_range *new_range(struct context *context, enum memory_kind kind, size_t size)
{
    struct memory_range *range = calloc(1, sizeof(*range));
    if (range) {
        range->context = context;
        range->owner = context->object.handle;
        range->device = context->device;
        range->kind = kind;
        range->size = size;
    }
    return range;
}

// Charges the device or the pool. Trims the memory that pools keep unused before it fails.
static CUresult memory_charge(struct memory_range *range)
{
    struct device *device = range->device;
    if (range->pool)
        return pool_charge(range->pool, memory_rounded(range->size));
    size_t bytes = memory_rounded(range->size);
    CUresult result = device_charge(device, bytes);
    if (result && memory_trim(device))
        result = device_charge(device, bytes);
    if (!result)
        range->charged = bytes;
    return result;
}

static void uncharge(struct memory_range *range)
{
    if (range->pool) {
        if (range->leaving)
            pool_note_leaving(range->pool, -(int64_t)memory_rounded(range->size));
        pool_uncharge(range->pool, memory_rounded(range->size));
    } else if (range->charged)
        device_uncharge(range->device, range->charged);
}

CUresult memory_allocate(struct context *context, size_t size, enum memory_kind kind,
                         struct memory_pool *pool, uint64_t *address)
{
    SIM_RETURN_IF(size > context->device->total_memory, CUDA_ERROR_OUT_OF_MEMORY);
    struct memory_range *range = new_range(context, kind, size);
    SIM_RETURN_IF(!range, CUDA_ERROR_OUT_OF_MEMORY);
    range->pool = pool;
    if (pool)
        range->device = pool_device(pool);
    CUresult result = memory_charge(range);
    if (result)
        goto free_range;
    size_t taken = range_size(range);
    if (arena_take(range->device->arena, taken, arena_alignment(taken), &range->base)) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
        goto give_charge;
    }
    *address = range->base += range_offset(range);
    pthread_rwlock_wrlock(&table.lock);
    result = memory_insert(range);
    pthread_rwlock_unlock(&table.lock);
    if (!result)
        return CUDA_SUCCESS;
    give_addresses(range);
give_charge:
    uncharge(range);
free_range:
    free(range);
    return result;
}

// Frees a range that left the table.
static void dispose(struct memory_range *range)
{
    switch (range->kind) {
    case MEMORY_MANAGED:
        madvise((void *)(uintptr_t)range->base, range_size(range), MADV_DOFORK);
        give_addresses(range);
        uncharge(range);
        break;
    case MEMORY_DEVICE:
    case MEMORY_POOL:
        ipc_memory_freed(range->base, range->size, range->size >= LARGE);
        // fall through
    case MEMORY_ARRAY:
    case MEMORY_VARIABLE:
    case MEMORY_MANAGED_VARIABLE:
    case MEMORY_HEAP:
        give_addresses(range);
        uncharge(range);
        break;
    case MEMORY_HOST: munmap((void *)(uintptr_t)range->base, range->size); break;
    case MEMORY_GRAPH:
        arena_give(range->device->arena, range->base, arena_size(range->size));
        break;
    case MEMORY_IMPORTED: ipc_memory_closed(range->device, range->base); break;
    case MEMORY_REGISTERED:
    case MEMORY_MAPPED: break; // removed by address_ranges.c itself
    }
    free(range);
}

static struct memory_range *take_out(uint64_t base,
                                     bool (*accept)(const struct memory_range *range))
{
    pthread_rwlock_wrlock(&table.lock);
    struct memory_range *range = find(base);
    if (range && range->base == base && (!accept || accept(range)))
        memory_remove_at(upper_bound(base) - 1);
    else
        range = NULL;
    pthread_rwlock_unlock(&table.lock);
    return range;
}

void memory_release_in_order(uint64_t base, bool (*accept)(const struct memory_range *range))
{
    struct memory_range *range = take_out(base, accept);
    if (!range)
        return;
    device_uncharge_late(range->device, range->charged);
    range->charged = 0;
    dispose(range);
}

CUresult memory_release(uint64_t base, bool (*accept)(const struct memory_range *range),
                        struct memory_range *old)
{
    struct memory_range *range = take_out(base, accept);
    SIM_RETURN_IF(!range, CUDA_ERROR_INVALID_VALUE);
    if (old)
        *old = *range;
    dispose(range);
    return CUDA_SUCCESS;
}

CUresult memory_reserve(struct device *device, size_t size, uint64_t *address)
{
    SIM_TRY(arena_prepare(device));
    SIM_RETURN_IF(size > device->total_memory, CUDA_ERROR_OUT_OF_MEMORY);
    struct memory_range *range = calloc(1, sizeof(*range));
    SIM_RETURN_IF(!range, CUDA_ERROR_OUT_OF_MEMORY);
    range->kind = MEMORY_GRAPH;
    range->size = size;
    range->device = device;
    if (arena_take(device->arena, arena_size(size), HUGE, &range->base)) {
        free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = range->base;
    pthread_rwlock_wrlock(&table.lock);
    CUresult result = memory_insert(range);
    pthread_rwlock_unlock(&table.lock);
    if (result) {
        arena_give(device->arena, range->base, arena_size(size));
        free(range);
    }
    return result;
}

void memory_open(uint64_t base, bool open)
{
    pthread_rwlock_wrlock(&table.lock);
    struct memory_range *range = find(base);
    if (range)
        range->open = open;
    pthread_rwlock_unlock(&table.lock);
}

void memory_show(uint64_t base, bool shown)
{
    pthread_rwlock_wrlock(&table.lock);
    struct memory_range *range = find(base);
    if (range)
        range->shown = shown;
    pthread_rwlock_unlock(&table.lock);
}

static bool is_graph(const struct memory_range *range)
{
    return range->kind == MEMORY_GRAPH;
}

void memory_unreserve(uint64_t base)
{
    (void)memory_release(base, is_graph, NULL);
}

CUresult memory_add_host(struct context *context, void *start, size_t size, enum memory_kind kind,
                         unsigned flags)
{
    uint64_t base = (uintptr_t)start;
    struct memory_range *range = new_range(context, kind, size);
    SIM_RETURN_IF(!range, CUDA_ERROR_OUT_OF_MEMORY);
    range->base = base;
    range->flags = flags;
    pthread_rwlock_wrlock(&table.lock);
    CUresult result = any_range(base, size) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                            : memory_insert(range);
    pthread_rwlock_unlock(&table.lock);
    if (result)
        free(range);
    return result;
}

static _Thread_local bool all_shown;

void memory_show_all(bool all)
{
    all_shown = all;
}

// Returns the range at the address if calls of this thread may use it. Called under the lock.
static struct memory_range *memory_find_shown(uint64_t address)
{
    struct memory_range *range = find(address);
    if (range && (range->kind == MEMORY_ARRAY || range->leaving))
        return NULL;
    bool hidden = range && range->kind == MEMORY_GRAPH && !range->shown && !all_shown;
    return hidden ? NULL : range;
}

bool memory_lookup_graph(uint64_t base, struct memory_range *out)
{
    pthread_rwlock_rdlock(&table.lock);
    struct memory_range *range = find(base);
    bool found = range && range->base == base && range->kind == MEMORY_GRAPH;
    if (found)
        *out = *range;
    pthread_rwlock_unlock(&table.lock);
    return found;
}

bool memory_lookup(uint64_t address, struct memory_range *out)
{
    pthread_rwlock_rdlock(&table.lock);
    struct memory_range *range = memory_find_shown(address);
    if (range)
        *out = *range;
    pthread_rwlock_unlock(&table.lock);
    return range;
}

static bool memory_is_open(const struct memory_range *range)
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        if (range->access[i] != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            return true;
    return false;
}

// Returns the end of the mappings that continue `range` without a gap, while ACCEPT returns true.
// Only mappings join; neighbouring allocations do not. Called under the lock.
static uint64_t joined_end(const struct memory_range *range, void *argument,
                           bool (*accept)(void *argument, const struct memory_range *range))
{
    uint64_t end = range->base + range->size;
    if (range->kind != MEMORY_MAPPED)
        return end;
    for (size_t at = upper_bound(range->base); at < table.count; at++) {
        const struct memory_range *next = table.ranges[at];
        if (next->kind != MEMORY_MAPPED || next->base != end || !accept(argument, next))
            break;
        end += next->size;
    }
    return end;
}

static bool accept_open(void *argument, const struct memory_range *range)
{
    return memory_is_open(range);
}

bool memory_lookup_span(uint64_t address, size_t size, struct memory_range *out)
{
    pthread_rwlock_rdlock(&table.lock);
    struct memory_range *range = memory_find_shown(address);
    bool whole = range && (range->kind != MEMORY_MAPPED || memory_is_open(range)) &&
                 size <= joined_end(range, NULL, accept_open) - address;
    if (range)
        *out = *range;
    pthread_rwlock_unlock(&table.lock);
    return whole;
}

void memory_set_leaving(uint64_t base, bool leaving)
{
    pthread_rwlock_wrlock(&table.lock);
    struct memory_range *range = find(base);
    if (range && range->base == base && range->kind == MEMORY_POOL && range->leaving != leaving) {
        int64_t bytes = (int64_t)memory_rounded(range->size);
        range->leaving = leaving;
        pool_note_leaving(range->pool, leaving ? bytes : -bytes);
    }
    pthread_rwlock_unlock(&table.lock);
}

void memory_set_sync_copies(uint64_t address, bool sync)
{
    pthread_rwlock_wrlock(&table.lock);
    struct memory_range *range = find(address);
    if (range)
        range->sync_copies = sync;
    pthread_rwlock_unlock(&table.lock);
}

// Returns true if kernels of the context may access the range. Memory of another context is
// accessible only to peers and through its pool's access settings; pinned host memory is portable.
// Called under the lock, which keeps the pool alive.
static bool kernel_may_touch(struct context *context, const struct memory_range *range)
{
    if (range->kind == MEMORY_ARRAY || (range->kind == MEMORY_GRAPH && !range->open))
        return false;
    if (range->kind == MEMORY_MAPPED)
        return range->access[context->device->index] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (memory_is_host(range) || memory_is_managed(range) || range->context == context)
        return true;
    if (range->kind == MEMORY_GRAPH && range->device == context->device)
        return true;
    if (range->pool && pool_is_open_to(range->pool, context->device))
        return true;
    return range->device != context->device &&
           atomic_load(&context->peers) & 1u << range->device->index;
}

static bool accept_for_kernel(void *argument, const struct memory_range *range)
{
    return kernel_may_touch(argument, range);
}

bool memory_find_for_kernel(void *argument, uint64_t address, uint64_t *base, uint64_t *end)
{
    pthread_rwlock_rdlock(&table.lock);
    const struct memory_range *range = find(address);
    bool found = range && kernel_may_touch(argument, range);
    if (found) {
        *base = range->base;
        *end = joined_end(range, argument, accept_for_kernel);
    }
    pthread_rwlock_unlock(&table.lock);
    return found;
}

CUresult memory_add_import(struct context *context, uint64_t base, size_t size,
                           struct memory_pool *pool)
{
    struct memory_range *range = new_range(context, MEMORY_IMPORTED, size);
    SIM_RETURN_IF(!range, CUDA_ERROR_OUT_OF_MEMORY);
    range->base = base;
    range->pool = pool;
    pthread_rwlock_wrlock(&table.lock);
    CUresult result = memory_insert(range);
    pthread_rwlock_unlock(&table.lock);
    if (result)
        free(range);
    return result;
}

// ---- mappings ----

CUresult memory_add_mapping(uint64_t base, size_t size, struct sim_physical *physical)
{
    struct memory_range *range = calloc(1, sizeof(*range));
    SIM_RETURN_IF(!range, CUDA_ERROR_OUT_OF_MEMORY);
    range->base = base;
    range->size = size;
    range->kind = MEMORY_MAPPED;
    range->physical = physical;
    range->handle_types = sim_physical_handle_types(physical);
    range->device = sim_physical_device(physical);
    pthread_rwlock_wrlock(&table.lock);
    CUresult result = any_range(base, size) ? CUDA_ERROR_INVALID_VALUE : memory_insert(range);
    pthread_rwlock_unlock(&table.lock);
    if (result)
        free(range);
    return result;
}

// Returns the number of mappings that cover the range and the index of the first; 0 unless whole
// mappings cover it without a gap. Called under the lock.
static size_t whole_mappings(uint64_t address, size_t size, size_t *first)
{
    size_t at = upper_bound(address);
    uint64_t end = address;
    if (!at || table.ranges[at - 1]->base != address)
        return 0;
    *first = --at;
    for (; at < table.count && end - address < size; at++) {
        const struct memory_range *range = table.ranges[at];
        if (range->kind != MEMORY_MAPPED || range->base != end)
            return 0;
        end += range->size;
    }
    return end - address == size ? at - *first : 0;
}

CUresult memory_each_mapping(uint64_t address, size_t size,
                             void (*visit)(void *argument, struct memory_range *range),
                             void *argument)
{
    size_t first;
    pthread_rwlock_wrlock(&table.lock);
    size_t count = whole_mappings(address, size, &first);
    for (size_t i = 0; i < count && visit; i++)
        visit(argument, table.ranges[first + i]);
    pthread_rwlock_unlock(&table.lock);
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult memory_remove_mappings(uint64_t address, size_t size,
                                void (*dispose_of)(struct memory_range *range))
{
    size_t first;
    pthread_rwlock_wrlock(&table.lock);
    size_t count = whole_mappings(address, size, &first);
    for (size_t i = 0; i < count; i++) {
        struct memory_range *range = table.ranges[first];
        memory_remove_at(first);
        dispose_of(range);
        free(range);
    }
    pthread_rwlock_unlock(&table.lock);
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool memory_any_mapping(uint64_t address, size_t size)
{
    pthread_rwlock_rdlock(&table.lock);
    bool any = any_range(address, size);
    pthread_rwlock_unlock(&table.lock);
    return any;
}

uint64_t memory_heap_allocate(void *argument, size_t size)
{
    struct context *context = argument;
    uint64_t address;
    size_t limit = context_limit(context, CU_LIMIT_MALLOC_HEAP_SIZE), taken = memory_rounded(size);
    if (!size || size > limit)
        return 0;
    if (atomic_fetch_add(&context->heap_used, taken) + taken > limit ||
        memory_allocate(context, size, MEMORY_HEAP, NULL, &address)) {
        atomic_fetch_sub(&context->heap_used, taken);
        return 0;
    }
    return address;
}

static bool is_heap(const struct memory_range *range)
{
    return range->kind == MEMORY_HEAP;
}

void memory_heap_release(void *argument, uint64_t address)
{
    struct context *context = argument;
    struct memory_range old;
    if (!memory_release(address, is_heap, &old))
        atomic_fetch_sub(&context->heap_used, memory_rounded(old.size));
}

CUresult memory_synchronize_owner(const struct memory_range *range)
{
    struct context *context = handle_get(OBJECT_CONTEXT, (void *)(uintptr_t)range->owner);
    if (!context)
        return CUDA_SUCCESS; // the context and its work ended meanwhile
    CUresult result = context_quiesce(context);
    object_put(&context->object);
    return result;
}

void memory_spoil(const struct context *context)
{
    struct memory_range *largest = NULL;
    pthread_rwlock_rdlock(&table.lock);
    for (size_t i = 0; i < table.count; i++) {
        struct memory_range *range = table.ranges[i];
        if (range->kind == MEMORY_DEVICE && range->context == context &&
            (!largest || range->size > largest->size))
            largest = range;
    }
    if (largest)
        *(unsigned char *)(uintptr_t)(largest->base + largest->size / 2) &= 0xfe;
    pthread_rwlock_unlock(&table.lock);
}

void memory_release_context(struct context *context)
{
    for (;;) {
        struct memory_range *range = NULL;
        pthread_rwlock_wrlock(&table.lock);
        for (size_t i = table.count; i-- > 0 && !range;) {
            if (table.ranges[i]->context == context && table.ranges[i]->kind != MEMORY_ARRAY) {
                range = table.ranges[i];
                memory_remove_at(i);
            }
        }
        pthread_rwlock_unlock(&table.lock);
        if (!range)
            return;
        dispose(range);
    }
}
