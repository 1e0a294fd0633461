// SPDX-License-Identifier: BSD-3-Clause
// Implements reserved address ranges, into which programs map physical memory. Reserved addresses
// are inaccessible. Mapped memory is memory of this process; the table of ranges records which
// devices may access it.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sim/engine/arena.h"
#include "sim/engine/memory.h"
#include "sim/engine/physical_pieces.h"
#include "common/base/scope.h"

#define ROOM ((size_t)1 << 40)
#define PAGE ((size_t)4096)
// NVIDIA's driver reserves the addresses that are wanted from here on (driver 580).
#define WANTED_FROM (UINT64_C(1) << 44)

struct sim_reservation {
    uint64_t base;
    size_t size;
    struct address_arena *arena; // of this file, or of a device; NULL: addresses that were wanted
    struct sim_reservation *next;
};

static struct {
    pthread_mutex_t lock; // guards the fields below, and keeps mapped ranges reserved
    struct address_arena *arena;
    struct sim_reservation *first;
} space = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- reserving ----

static void *protect(uint64_t base, size_t size, int access)
{
    return mmap((void *)base, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                -1, 0);
}

static bool address_ranges_take_at(struct address_arena *arena, struct sim_reservation *reservation)
{
    if (!arena || arena_take_at(arena, reservation->base, reservation->size))
        return false;
    reservation->arena = arena;
    protect(reservation->base, reservation->size, PROT_NONE);
    return true;
}

static bool take_elsewhere(struct sim_reservation *reservation)
{
    void *base = (void *)reservation->base;
    if (reservation->base < WANTED_FROM)
        return false;
    void *got = mmap(base, reservation->size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != MAP_FAILED && got != base)
        munmap(got, reservation->size);
    return got == base;
}

// The base is what the program wants, and a hint.
static CUresult address_ranges_take(struct sim_reservation *reservation, size_t alignment)
{
    struct device *first;
    if (!space.arena)
        space.arena = arena_create_empty(ROOM);
    SIM_RETURN_IF(!space.arena, CUDA_ERROR_OUT_OF_MEMORY);
    SIM_TRY(device_get(0, &first));
    if (reservation->base && reservation->base % alignment == 0 &&
        (address_ranges_take_at(space.arena, reservation) ||
         address_ranges_take_at(first->arena, reservation) || take_elsewhere(reservation)))
        return CUDA_SUCCESS;
    reservation->arena = space.arena;
    return arena_take(space.arena, reservation->size, alignment, &reservation->base)
               ? CUDA_ERROR_OUT_OF_MEMORY
               : CUDA_SUCCESS;
}

static void address_ranges_give(const struct sim_reservation *reservation)
{
    if (!reservation->arena) {
        munmap((void *)reservation->base, reservation->size);
        return;
    }
    if (reservation->arena != space.arena)
        protect(reservation->base, reservation->size, PROT_READ | PROT_WRITE);
    arena_give(reservation->arena, reservation->base, reservation->size);
}

SIM_API(cuMemAddressReserve, CUdeviceptr *address, size_t size, size_t alignment,
        CUdeviceptr wanted, unsigned long long flags)
{
    size_t least = sim_physical_granularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!address || !size || size % least || flags || (alignment & (alignment - 1)),
                  CUDA_ERROR_INVALID_VALUE);
    if (alignment < least)
        alignment = sim_physical_granularity(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    struct sim_reservation *reservation = malloc(sizeof(*reservation));
    SIM_RETURN_IF(!reservation, CUDA_ERROR_OUT_OF_MEMORY);
    *reservation = (struct sim_reservation){.base = wanted, .size = size};
    pthread_mutex_lock(&space.lock);
    CUresult result = address_ranges_take(reservation, alignment);
    if (!result) {
        reservation->next = space.first;
        space.first = reservation;
        *address = reservation->base;
    }
    pthread_mutex_unlock(&space.lock);
    if (result)
        free(reservation);
    return result;
}

SIM_API(cuMemAddressFree, CUdeviceptr address, size_t size)
{
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&space.lock);
    struct sim_reservation **at = &space.first;
    while (*at && ((*at)->base != address || (*at)->size != size))
        at = &(*at)->next;
    struct sim_reservation *found = *at;
    bool ends = found && !memory_any_mapping(address, size);
    if (ends) {
        *at = found->next;
        address_ranges_give(found);
        free(found);
    }
    return ends ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Returns true if one reservation covers the whole range. Called under the lock.
static bool is_reserved(uint64_t address, size_t size)
{
    const struct sim_reservation *r = space.first;
    while (r && (address < r->base || address - r->base >= r->size))
        r = r->next;
    return r && size <= r->size - (address - r->base);
}

// ---- mapping ----

static CUresult address_ranges_map(uint64_t address, size_t size, size_t offset,
                                   struct sim_physical *physical)
{
    SIM_RETURN_IF(!is_reserved(address, size), CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(memory_add_mapping(address, size, physical));
    sim_physical_hold(physical);
    return CUDA_SUCCESS;
}

SIM_API(cuMemMap, CUdeviceptr address, size_t size, size_t offset,
        CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    size_t least = sim_physical_granularity(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    SCOPED_OBJECT struct sim_physical *physical = NULL;
    SIM_TRY(sim_physical_get(handle, &physical));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    // A pool of tiles is for arrays only.
    bool valid = size && size % least == 0 && address % least == 0 && !flags &&
                 !sim_physical_is_tile_pool(physical);
    if (valid && (offset || size != sim_physical_size(physical))) {
        result = CUDA_ERROR_NOT_SUPPORTED; // only whole pieces can be mapped
    } else if (valid) {
        pthread_mutex_lock(&space.lock);
        result = address_ranges_map(address, size, offset, physical);
        pthread_mutex_unlock(&space.lock);
    }
    return result;
}

static void address_ranges_unmap(struct memory_range *range)
{
    protect(range->base, range->size, PROT_NONE);
    sim_physical_put(range->physical);
}

// Returns true if the range is reserved and nothing is mapped in it; the driver accepts unmapping
// it again. Takes the lock itself.
static bool address_ranges_is_empty(uint64_t address, size_t size)
{
    SCOPED_LOCK(&space.lock);
    return size && is_reserved(address, size) && !memory_any_mapping(address, size);
}

SIM_API(cuMemUnmap, CUdeviceptr address, size_t size)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(address_ranges_is_empty(address, size), CUDA_SUCCESS);
    SIM_TRY(memory_each_mapping(address, size, NULL, NULL));
    SIM_TRY(context_quiesce_all());
    SCOPED_LOCK(&space.lock);
    return memory_remove_mappings(address, size, address_ranges_unmap);
}

// ---- access ----

struct access_change {
    const CUmemAccessDesc *list;
    size_t count;
    bool failed;
};

static CUresult check_access(const CUmemAccessDesc *access, bool *closes)
{
    struct device *device;
    SIM_RETURN_IF(access->location.type < CU_MEM_LOCATION_TYPE_DEVICE ||
                      access->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(access->location.type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    SIM_TRY(device_get(access->location.id, &device));
    switch (access->flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE: *closes = true; return CUDA_SUCCESS;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: return CUDA_SUCCESS;
    case CU_MEM_ACCESS_FLAGS_PROT_MAX: break;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static void open_mapping(void *argument, struct memory_range *range)
{
    struct access_change *change = argument;
    void *base = (void *)range->base;
    bool any = false;
    for (size_t i = 0; i < change->count; i++)
        range->access[change->list[i].location.id] = change->list[i].flags;
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        any |= range->access[i] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    void *got = any ? mmap(base, range->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           sim_physical_file(range->physical), 0)
                    : protect(range->base, range->size, PROT_NONE);
    change->failed |= got == MAP_FAILED;
}

SIM_API(cuMemSetAccess, CUdeviceptr address, size_t size, const CUmemAccessDesc *list, size_t count)
{
    struct access_change change = {.list = list, .count = count};
    bool closes = false;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!list || !count, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        SIM_TRY(check_access(&list[i], &closes));
    SIM_TRY(memory_each_mapping(address, size, NULL, NULL));
    if (closes)
        SIM_TRY(context_quiesce_all());
    SCOPED_LOCK(&space.lock);
    CUresult result = memory_each_mapping(address, size, open_mapping, &change);
    return change.failed ? CUDA_ERROR_OUT_OF_MEMORY : result;
}

SIM_API(cuMemGetAccess, unsigned long long *flags, const CUmemLocation *location,
        CUdeviceptr address)
{
    struct memory_range range;
    struct device *device;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!flags || !location, CUDA_ERROR_INVALID_VALUE);
    SIM_RETURN_IF(location->type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_DEVICE);
    SIM_TRY(device_get(location->id, &device));
    SIM_RETURN_IF(!memory_lookup(address, &range), CUDA_ERROR_INVALID_VALUE);
    bool own = range.context && range.context->device == device;
    *flags = range.kind == MEMORY_MAPPED ? range.access[device->index]
             : own                       ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

SIM_API(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *handle, void *address)
{
    struct memory_range range;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!handle, CUDA_ERROR_INVALID_VALUE);
    pthread_mutex_lock(&space.lock); // keeps the range mapped
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (memory_lookup((uintptr_t)address, &range) && range.kind == MEMORY_MAPPED)
        result = sim_physical_retain(range.physical, handle);
    pthread_mutex_unlock(&space.lock);
    return result;
}
