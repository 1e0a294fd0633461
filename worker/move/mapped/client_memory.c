// SPDX-License-Identifier: BSD-3-Clause
// Host memory of the client that we map at the client's own addresses, so that a pointer means the
// same to its program, to us and to the GPU, and that the GPU copies to and from without us.
#include "worker/move/mapped/client_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/scope.h"
#include "proto/wire.h"
#include "transport/link.h"
#include "worker/account/allocation.h"
#include "worker/context_watchers.h"
#include "worker/move/pinned.h"
#include "worker/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

// Requests read a region's place without a lock; base is set last and cleared first.
struct region {
    _Atomic(uint8_t *) base;
    uint64_t size;
    CUcontext context; // in which it is registered; NULL: no more
};
static struct region regions[WIRE_REGION_LIMIT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct region *find_region(uint64_t host)
{
    return &regions[WIRE_HOST_REGION(host)];
}

void *host_address(uint64_t host, uint64_t size)
{
    uint64_t offset = WIRE_HOST_OFFSET(host), limit;
    uint8_t *base;

    if (!session.link || link_memory(session.link) != LINK_MEMORY_SHARED)
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

// The file must not shrink under us: touching what is gone would be a fault of ours.
static CUresult check_file(int fd, uint64_t size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat status;

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &status) || status.st_size < 0 ||
        (uint64_t)status.st_size < size)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult map_file(int fd, uint64_t address, uint64_t size, uint8_t **out)
{
    void *wanted = (void *)(uintptr_t)address;
    void *base =
        mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

    if (base == MAP_FAILED)
        return errno == EEXIST ? CUDA_ERROR_ALREADY_MAPPED : CUDA_ERROR_OUT_OF_MEMORY;
    if (base != wanted) { // a kernel that does not know the flag takes it for a hint
        munmap(base, size);
        return CUDA_ERROR_ALREADY_MAPPED;
    }
    *out = base;
    return CUDA_SUCCESS;
}

static bool sensible(const struct args_host_map *args)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return args->region > WIRE_REGION_STAGING && args->region < WIRE_REGION_LIMIT && args->size &&
           args->address && args->address % page == 0 && args->size % page == 0 &&
           args->address + args->size > args->address && args->size < UINT64_C(1) << 48;
}

static CUresult register_region(struct serve *serve, uint8_t *base, uint64_t size,
                                CUdeviceptr *device)
{
    CUresult result =
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

void serve_host_map(struct serve *serve, const struct args_host_map *args,
                    struct reply_host_map *reply)
{
    uint8_t *base = NULL;
    CUdeviceptr device = 0;
    int fd = -1;

    if (link_memory(session.link) != LINK_MEMORY_SHARED) {
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    int err = link_receive_region(session.link, args->region, &fd);
    if (err || !sensible(args) || regions[args->region].base) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        if (!err)
            close(fd);
        return;
    }
    serve_fail(serve, check_file(fd, args->size));
    if (!serve_failed(serve))
        serve_fail(serve, map_file(fd, args->address, args->size, &base));
    close(fd);
    if (serve_failed(serve))
        return;
    serve_fail(serve, register_region(serve, base, args->size, &device));
    if (serve_failed(serve)) {
        munmap(base, args->size);
        return;
    }
    regions[args->region].size = args->size;
    regions[args->region].context = serve->current;
    atomic_store_explicit(&regions[args->region].base, base, memory_order_release);
    reply->device_address = device;
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
}

static void forget_context(CUcontext context)
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
    context_watch(forget_context);
}
