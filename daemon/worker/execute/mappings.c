// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory. Physical memory counts from its creation until its handle is released and all its
// mappings have ended. Mappings are in the list of allocations, so that requests may use their
// addresses.
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/handle_table.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/execute/box_memory.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/peer/peer_windows.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

// ---- memory mapped into arrays ----

// Only the driver knows which parts an array still uses, so an array keeps all of it until it ends.
// The caller locks.
struct array_use {
    const void *array;
    void *memory;
    struct array_use *next;
};

static struct array_use *uses;

// Returns 1 if the use is new, 0 if it was known, -1 if memory is exhausted.
static int array_use_add(const void *array, void *memory)
{
    struct array_use *use = uses;

    while (use && (use->array != array || use->memory != memory))
        use = use->next;
    if (use)
        return 0;
    use = malloc(sizeof(*use));
    if (!use)
        return -1;
    *use = (struct array_use){array, memory, uses};
    uses = use;
    return 1;
}

// Removes and returns one memory of an array; NULL if it has none.
static void *array_use_take(const void *array)
{
    struct array_use **at = &uses;

    while (*at && (*at)->array != array)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    struct array_use *use = *at;
    void *memory = use->memory;
    *at = use->next;
    free(use);
    return memory;
}

// ---- mappings ----

struct box_mapping {
    uint64_t address, size;
    struct box_memory *physical;
    struct box_mapping *next;
};

static struct box_mapping *mappings[1024]; // by address
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct box_mapping **mappings_bucket(uint64_t address)
{
    return &mappings[(address >> 21 ^ address >> 12) % (sizeof(mappings) / sizeof(mappings[0]))];
}

// Under lock, as all that follows.
static struct box_mapping **mappings_find(uint64_t address)
{
    struct box_mapping **at = mappings_bucket(address);

    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

static void end_unused(struct box_memory *physical)
{
    if (physical->held || physical->mappings)
        return;
    if (physical->name)
        handle_release(session.handles, physical->name, HANDLE_MEMORY);
    physical->name = 0;
    if (physical->arrays)
        return;
    driver.cuMemRelease(physical->handle);
    budget_give(physical->device, physical->charge);
    shared_forget((uintptr_t)physical);
    import_forget((uintptr_t)physical);
    free(physical);
}

static struct box_memory *physical_of(struct serve *serve, uint64_t name)
{
    return serve_handle(serve, HANDLE_MEMORY, name);
}

// ---- addresses ----

void serve_memory_reserve(struct serve *serve, const struct args_memory_reserve *args,
                          struct reply_memory_reserve *reply)
{
    CUdeviceptr address = 0;

    serve_fail(serve,
               driver.cuMemAddressReserve(&address, args->size, args->alignment, args->wanted, 0));
    reply->address = address;
}

void serve_memory_unreserve(struct serve *serve, const struct args_memory_unreserve *args)
{
    serve_fail(serve, driver.cuMemAddressFree(args->address, args->size));
}

// ---- physical memory ----

// The client's wishes, for our memory: it has no other, and no pointer of its means anything here.
static CUmemAllocationProp properties(struct serve *serve, const CUmemAllocationProp *theirs,
                                      int32_t device)
{
    CUmemAllocationProp ours = *theirs;

    ours.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, serve_device(serve, device)};
    ours.win32HandleMetaData = NULL;
    if (ours.requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    return ours;
}

void serve_memory_granularity(struct serve *serve, const struct args_memory_granularity *args,
                              struct reply_memory_granularity *reply)
{
    CUmemAllocationProp prop = properties(serve, &args->prop, args->dev);
    size_t size = 0;

    if (!serve_require(serve, driver.cuMemGetAllocationGranularity))
        return;
    serve_fail(serve, driver.cuMemGetAllocationGranularity(
                          &size, &prop, (CUmemAllocationGranularity_flags)args->option));
    reply->granularity = size;
}

struct box_memory *box_memory_adopt(struct serve *serve, CUmemGenericAllocationHandle handle,
                                    uint64_t name, uint64_t size, int device, uint64_t charge)
{
    struct box_memory *memory = malloc(sizeof(*memory));

    if (memory) {
        *memory = (struct box_memory){handle, name, size, charge, device, true, 0, 0};
        serve_bind(serve, HANDLE_MEMORY, name, memory, 0);
    } else {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (!serve_failed(serve))
        return memory;
    driver.cuMemRelease(handle);
    free(memory);
    return NULL;
}

CUmemGenericAllocationHandle box_memory_of_array(struct serve *serve, uint64_t name,
                                                 const void *array)
{
    SCOPED_LOCK(&lock);
    struct box_memory *physical = physical_of(serve, name);
    int added = physical ? array_use_add(array, physical) : 0;
    if (added < 0)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (!physical || added < 0)
        return 0;
    physical->arrays += (unsigned)added;
    return physical->handle;
}

void box_memory_array_ends(const void *array)
{
    SCOPED_LOCK(&lock);
    for (struct box_memory *physical; (physical = array_use_take(array)) != NULL;) {
        physical->arrays--;
        end_unused(physical);
    }
}

void box_memory_end(struct box_memory *memory)
{
    SCOPED_LOCK(&lock);
    memory->held = false;
    end_unused(memory);
}

uint64_t box_memory_granularity(int device)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE,
                                             gpus.list[device].handle}};
    size_t unit = 0;

    return driver.cuMemGetAllocationGranularity &&
                   driver.cuMemGetAllocationGranularity(&unit, &prop,
                                                        CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
                       CUDA_SUCCESS
               ? unit
               : 1;
}

// If GPUs of other boxes may reach ours, a link can lend all memory that is created, whatever the
// program has asked for. Not every kind of memory allows that.
static CUresult mappings_create(CUmemGenericAllocationHandle *handle, size_t size,
                                const CUmemAllocationProp *wanted)
{
    CUmemAllocationProp lendable = *wanted;

    lendable.requestedHandleTypes |= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (setup.peer_gpus && driver.cuMemCreate(handle, size, &lendable, 0) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    return driver.cuMemCreate(handle, size, wanted, 0);
}

void serve_memory_create(struct serve *serve, const struct args_memory_create *args,
                         struct reply_memory_create *reply)
{
    CUmemAllocationProp prop = properties(serve, &args->prop, args->dev);
    CUmemGenericAllocationHandle handle = 0;
    size_t unit = 0;

    if (!serve_require(serve, driver.cuMemCreate) ||
        !serve_require(serve, driver.cuMemGetAllocationGranularity))
        return;
    int device = session_device_of(prop.location.id);
    serve_fail(serve, driver.cuMemGetAllocationGranularity(&unit, &prop,
                                                           CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (!serve_failed(serve) && !budget_find(device, args->size))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (serve_failed(serve))
        return;
    serve_fail(serve, mappings_create(&handle, args->size, &prop));
    if (!serve_failed(serve))
        box_memory_adopt(serve, handle, args->memory, args->size, device, args->size);
    if (serve_failed(serve))
        budget_give(device, args->size);
    reply->granularity = unit;
}

void serve_memory_release(struct serve *serve, const struct args_memory_release *args)
{
    SCOPED_LOCK(&lock);
    struct box_memory *physical = physical_of(serve, args->memory);
    if (!physical)
        return;
    physical->held = false;
    end_unused(physical);
}

void serve_memory_hold(struct serve *serve, const struct args_memory_hold *args)
{
    SCOPED_LOCK(&lock);
    struct box_memory *physical = physical_of(serve, args->memory);
    if (physical)
        physical->held = true;
}

// ---- mappings ----

static void mappings_enter(struct serve *serve, struct box_memory *physical, uint64_t address,
                           uint64_t size)
{
    struct box_mapping *mapping = malloc(sizeof(*mapping));

    if (!mapping || allocation_add(address, size, physical->device, NULL, ALLOCATION_MAPPED)) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        driver.cuMemUnmap(address, size);
        free(mapping);
        return;
    }
    *mapping = (struct box_mapping){address, size, physical, *mappings_bucket(address)};
    *mappings_bucket(address) = mapping;
    physical->mappings++;
    atomic_fetch_add(&session.memory_epoch, 1); // what ended here goes on
}

void serve_memory_map(struct serve *serve, const struct args_memory_map *args)
{
    SCOPED_LOCK(&lock);
    struct box_memory *physical = physical_of(serve, args->memory);
    if (!physical)
        return;
    serve_fail(serve, driver.cuMemMap(args->address, args->size, 0, physical->handle, 0));
    if (!serve_failed(serve))
        mappings_enter(serve, physical, args->address, args->size);
}

static struct box_mapping *mappings_take_out(uint64_t address, uint64_t size)
{
    SCOPED_LOCK(&lock);
    struct box_mapping **at = mappings_find(address), *mapping = *at;
    if (!mapping || mapping->size != size)
        return NULL;
    *at = mapping->next;
    return mapping;
}

static void mappings_put_back(struct box_mapping *mapping)
{
    (void)allocation_add(mapping->address, mapping->size, mapping->physical->device, NULL,
                         ALLOCATION_MAPPED);
    SCOPED_LOCK(&lock);
    mapping->next = *mappings_bucket(mapping->address);
    *mappings_bucket(mapping->address) = mapping;
}

static void end_mapping(struct box_mapping *mapping)
{
    SCOPED_LOCK(&lock);
    mapping->physical->mappings--;
    end_unused(mapping->physical);
    free(mapping);
}

// Returns a descriptor of the memory mapped at ADDRESS, and its size.
static CUresult mappings_describe(uint64_t address, uint64_t *size, int *fd)
{
    SCOPED_LOCK(&lock);
    const struct box_mapping *mapping = *mappings_find(address);
    if (!mapping)
        return CUDA_ERROR_INVALID_VALUE;
    *size = mapping->physical->size;
    return driver.cuMemExportToShareableHandle(fd, mapping->physical->handle,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

void serve_peer_lend(struct serve *serve, const struct args_peer_lend *args)
{
    struct wire_peer_loan loan = {0};
    SCOPED_FD int fd = -1;

    if (!peer_windows_allowed(serve) || !serve_require(serve, driver.cuMemExportToShareableHandle))
        return;
    serve_fail(serve, mappings_describe(args->address, &loan.size, &fd));
    if (!serve_failed(serve))
        peer_windows_lend(serve, args->peer, args->address, fd, &loan.region);
    if (!serve_failed(serve))
        serve_reply_bytes(serve, &loan, sizeof(loan));
}

// The driver may wait for the GPU inside, so nothing is held meanwhile.
void serve_memory_unmap(struct serve *serve, const struct args_memory_unmap *args)
{
    struct box_mapping *mapping = mappings_take_out(args->address, args->size);
    if (!mapping) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    // Out of the list first: once it is unmapped, another thread may map something there.
    allocation_remove(args->address);
    atomic_fetch_add(&session.memory_epoch, 1);
    serve_fail(serve, driver.cuMemUnmap(args->address, args->size));
    if (serve_failed(serve))
        mappings_put_back(mapping);
    else
        end_mapping(mapping);
}

void serve_memory_open(struct serve *serve, const struct args_memory_open *args)
{
    CUmemAccessDesc list[sizeof(args->list) / sizeof(args->list[0])];

    if (args->count > sizeof(list) / sizeof(list[0]))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    for (uint64_t i = 0; i < args->count && !serve_failed(serve); i++) {
        list[i] = args->list[i];
        list[i].location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE,
                                           serve_device(serve, args->list[i].location.id)};
    }
    if (serve_require(serve, driver.cuMemSetAccess))
        serve_fail(serve, driver.cuMemSetAccess(args->address, args->size, list, args->count));
}

void serve_memory_opened(struct serve *serve, const struct args_memory_opened *args,
                         struct reply_memory_opened *reply)
{
    CUmemLocation place = {CU_MEM_LOCATION_TYPE_DEVICE, serve_device(serve, args->dev)};
    unsigned long long flags = 0;

    if (serve_require(serve, driver.cuMemGetAccess))
        serve_fail(serve, driver.cuMemGetAccess(&flags, &place, args->address));
    reply->flags = flags;
}
