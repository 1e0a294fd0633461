// SPDX-License-Identifier: BSD-3-Clause
// Host memory of the client is mapped at the client's own addresses, so that a pointer is valid in
// the program, in the worker and on the GPU, and the GPU copies without the worker.
#include "daemon/worker/copy/mapped/client_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/resident.h"
#include "common/base/scope.h"
#include "proto/wire.h"
#include "transport/link/link.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/copy/parts/pinned.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"
#include "worker_serve.h"

// Requests read a region's place without a lock; base is set last and cleared first.
struct region {
    _Atomic(uint8_t *) base;
    uint64_t size;
    uint64_t window_place; // in the window; 0: it is no part of it
    CUcontext context;     // in which it is registered; NULL: no more
};
static struct region regions[WIRE_REGION_LIMIT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct region *find_region(uint64_t host)
{
    return &regions[WIRE_HOST_REGION(host)];
}

static bool link_maps(void)
{
    enum link_memory memory = session.link ? link_memory(session.link) : LINK_MEMORY_APART;

    return memory == LINK_MEMORY_SHARED || memory == LINK_MEMORY_WINDOW;
}

void *host_address(uint64_t host, uint64_t size)
{
    uint64_t offset = WIRE_HOST_OFFSET(host), limit;
    uint8_t *base;

    if (!link_maps())
        return NULL;
    if (WIRE_HOST_REGION(host) == WIRE_REGION_STAGING) {
        base = pinned.staging->base;
        limit = pinned.staging->size;
    } else {
        base = atomic_load_explicit(&find_region(host)->base, memory_order_acquire);
        limit = base ? find_region(host)->size : 0;
    }
    if (!base || offset > limit || size > limit - offset)
        return NULL;
    return base + offset;
}

// The place of a region: its addresses in the client, and its bytes in the file.
struct region_place {
    uint64_t address, size, offset;
    uint32_t region;
    uint64_t window_place; // 0: not in the window
};

// Shared memory is no part of what the kernel limits, so what is mapped is compared with the same
// limit here.
static bool session_may_map(uint64_t size)
{
    uint64_t sum = 0, limit = setup.worker.worker_memory;

    for (unsigned i = 0; i < WIRE_REGION_LIMIT; i++)
        if (atomic_load(&regions[i].base))
            sum += regions[i].size;
    return !limit || (sum <= limit && size <= limit - sum);
}

// Our client's own file is sealed, so that it cannot shrink under us. A file of its program cannot
// be: who makes it shorter while it is registered ends the session that has it, and no other.
static CUresult client_memory_check_file(int fd, const struct region_place *place, bool sealed)
{
    int seals = fcntl(fd, F_GET_SEALS);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct stat status;

    if ((sealed && (seals < 0 || !(seals & F_SEAL_SHRINK))) || fstat(fd, &status) ||
        !S_ISREG(status.st_mode) || status.st_size < 0 || place->offset > (uint64_t)status.st_size)
        return CUDA_ERROR_INVALID_VALUE;
    // Its last page is there as a whole.
    uint64_t end = ((uint64_t)status.st_size + page - 1) & ~(page - 1);
    if (place->size > end - place->offset)
        return CUDA_ERROR_INVALID_VALUE;
    // Clients of releases before 0.2 leave it to this side to make the pages, so those may still be
    // missing.
    return session_may_map(place->size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult host_memory_map(int fd, uint64_t offset, uint64_t address, uint64_t size, uint8_t **out)
{
    void *wanted = (void *)(uintptr_t)address;
    int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *base =
        mmap(wanted, size, PROT_READ | PROT_WRITE, kind | MAP_FIXED_NOREPLACE, fd, (off_t)offset);

    if (base == MAP_FAILED)
        return errno == EEXIST ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_OUT_OF_MEMORY;
    if (base != wanted) { // a kernel that does not know the flag takes it for a hint
        munmap(base, size);
        return CUDA_ERROR_ALREADY_MAPPED;
    }
    *out = base;
    return CUDA_SUCCESS;
}

bool host_memory_sensible(uint64_t address, uint64_t size, uint32_t region)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), limit = UINT64_C(1) << 48;

    return region > WIRE_REGION_STAGING && region < WIRE_REGION_LIMIT && size && size < limit &&
           size % page == 0 && address && address % page == 0 && address + size > address;
}

static bool sensible(const struct region_place *place)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), limit = UINT64_C(1) << 48;

    return host_memory_sensible(place->address, place->size, place->region) &&
           place->offset < limit && place->offset % page == 0;
}

CUresult host_memory_register(void *base, uint64_t size, CUdeviceptr *device)
{
    // The driver would find page after page missing.
    CUresult result = memory_make_resident(base, size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        return result;
    result =
        driver.cuMemHostRegister_v2(base, size,
                                    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

    if (result != CUDA_SUCCESS)
        return result;
    result = driver.cuMemHostGetDevicePointer_v2(device, base, 0);
    if (result == CUDA_SUCCESS &&
        allocation_add((uint64_t)(uintptr_t)base, size, 0, NULL, ALLOCATION_HOST))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        driver.cuMemHostUnregister(base);
    return result;
}

static void keep_region(struct serve *serve, const struct region_place *place, uint8_t *base)
{
    struct region *region = &regions[place->region];

    region->size = place->size;
    region->window_place = place->window_place;
    region->context = serve->current;
    atomic_store_explicit(&region->base, base, memory_order_release);
}

// Maps it at the client's addresses and gives it to the GPU.
static void client_memory_map_file(struct serve *serve, int fd, const struct region_place *place,
                                   uint64_t *device_address)
{
    uint8_t *base = NULL;
    CUdeviceptr device = 0;

    serve_fail(serve, host_memory_map(fd, place->offset, place->address, place->size, &base));
    if (serve_failed(serve))
        return;
    serve_fail(serve, host_memory_register(base, place->size, &device));
    if (serve_failed(serve)) {
        munmap(base, place->size);
        return;
    }
    // As new memory has it, and so that no process finds what another one had there.
    if (place->window_place)
        memset(base, 0, place->size);
    keep_region(serve, place, base);
    *device_address = device;
}

static void map_region(struct serve *serve, const struct region_place *place, bool sealed,
                       uint64_t *device_address)
{
    int fd = -1;

    if (link_memory(session.link) != LINK_MEMORY_SHARED) {
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    int err = link_receive_region(session.link, place->region,
                                  sealed ? LINK_REGION_SEALED : LINK_REGION_FILE, &fd);
    if (err || !sensible(place) || regions[place->region].base) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        if (!err)
            close(fd);
        return;
    }
    serve_fail(serve, client_memory_check_file(fd, place, sealed));
    if (!serve_failed(serve))
        client_memory_map_file(serve, fd, place, device_address);
    close(fd);
}

void serve_host_map(struct serve *serve, const struct args_host_map *args,
                    struct reply_host_map *reply)
{
    struct region_place place = {args->address, args->size, 0, args->region, 0};

    map_region(serve, &place, true, &reply->device_address);
}

void serve_host_map_file(struct serve *serve, const struct args_host_map_file *args,
                         struct reply_host_map_file *reply)
{
    struct region_place place = {args->address, args->size, args->offset, args->region, 0};

    map_region(serve, &place, false, &reply->device_address);
}

// The supervisor says where in the window there is room, so that no two have the same.
void serve_host_map_window(struct serve *serve, const struct args_host_map_window *args,
                           struct reply_host_map_window *reply)
{
    struct region_place place = {args->address, args->size, 0, args->region, 0};

    if (session.window < 0) {
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    if (!sensible(&place) || regions[place.region].base) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    serve_fail(serve, ask_window_room(args->size, &place.window_place));
    if (serve_failed(serve))
        return;
    place.offset = place.window_place;
    client_memory_map_file(serve, session.window, &place, &reply->device_address);
    reply->place = place.window_place;
    if (serve_failed(serve))
        ask_window_no_more(place.window_place);
}

void host_memory_unmap(struct serve *serve, uint32_t number)
{
    struct region *region = &regions[number];
    uint8_t *base = atomic_exchange(&region->base, NULL);
    if (!base) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    allocation_remove((uint64_t)(uintptr_t)base);
    atomic_fetch_add(&session.memory_epoch, 1);
    SCOPED_LOCK(&lock);
    if (region->context)
        driver.cuMemHostUnregister(base);
    region->context = NULL;
    munmap(base, region->size);
    if (region->window_place)
        ask_window_no_more(region->window_place);
    region->window_place = 0;
}

static void client_memory_forget_context(CUcontext context)
{
    SCOPED_LOCK(&lock);
    for (unsigned i = 1; i < WIRE_REGION_LIMIT; i++) {
        if (!regions[i].base || regions[i].context != context)
            continue;
        driver.cuMemHostUnregister(regions[i].base);
        regions[i].context = NULL;
    }
}

void host_memory_prepare(void)
{
    context_watch(client_memory_forget_context);
}
