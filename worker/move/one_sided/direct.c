// SPDX-License-Identifier: BSD-3-Clause
// GPUDirect RDMA: device memory is registered with the RDMA device, an allocation at a time, when it
// is first copied, and stays so until it is freed or nobody has used it for longer than the rest.
//
// Registered by a dma-buf where driver, device and kernel know them, else by its address, which the
// peer memory module of the driver (nvidia-peermem) makes known to verbs, and which with the software
// GPU is an ordinary one. Sources: CUDA Driver API, cuMemGetHandleForAddressRange and
// cuFlushGPUDirectRDMAWrites; "GPUDirect RDMA" of the CUDA documentation; ibv_reg_dmabuf_mr(3).
#include "worker/move/one_sided/direct.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"
#include "common/scope.h"
#include "transport/link.h"
#include "worker/account/allocation.h"
#include "worker/context_watchers.h"
#include "worker/session.h"
#include "worker/setup.h"
#include "worker_driver.h"

enum { REGIONS_MAX = 256, PAGE = 4096 };

struct direct_region {
    uint64_t start, end;
    CUcontext context;                  // it dies with it
    struct link_registered *registered; // NULL: cannot be, which is remembered
    unsigned uses;
    uint64_t used; // number of the move that used it last
};

static struct direct_region *regions[REGIONS_MAX];
static unsigned region_count;
static uint64_t moves_ever;
static bool told_success, told_failure;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;

// ---- registering ----

static int attribute(CUdevice_attribute which)
{
    CUdevice device = 0;
    int value = 0;

    if (driver.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        driver.cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS)
        return 0;
    return value;
}

// A descriptor of the pages that SIZE bytes from START lie in. -errno.
static int dmabuf_of(uint64_t start, uint64_t size)
{
    uint64_t first = start & ~(uint64_t)(PAGE - 1);
    uint64_t end = (start + size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    int fd = -1;

    if (!driver.cuMemGetHandleForAddressRange || !attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED))
        return -EOPNOTSUPP;
    CUresult result = driver.cuMemGetHandleForAddressRange(&fd, first, end - first,
                                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    return result == CUDA_SUCCESS ? fd : -EIO;
}

static int by_dmabuf(uint64_t start, uint64_t size, struct link_registered **out)
{
    int fd = dmabuf_of(start, size);

    if (fd < 0)
        return fd;
    int r = link_register(session.link,
                          &(struct link_local){.base = (void *)(uintptr_t)start,
                                               .size = size,
                                               .dmabuf = fd,
                                               .offset = start % PAGE},
                          out);
    close(fd);
    return r;
}

static int by_address(uint64_t start, uint64_t size, struct link_registered **out)
{
    return link_register(
        session.link,
        &(struct link_local){.base = (void *)(uintptr_t)start, .size = size, .dmabuf = -1}, out);
}

// Whether the GPU sees what another device wrote: by itself, as some do, or because the driver can be asked to make
// it visible.
static bool can_flush(void)
{
    return attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
               CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ||
           (driver.cuFlushGPUDirectRDMAWrites &&
            attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) &
                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST);
}

CUresult direct_flush(void)
{
    if (attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
        CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER)
        return CUDA_SUCCESS;
    return driver.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                             CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

static void register_memory(struct direct_region *region)
{
    enum control_gpudirect mode = (enum control_gpudirect)setup.worker.gpudirect;
    uint64_t size = region->end - region->start;
    const char *how = "dma-buf";
    int by_buffer = -EOPNOTSUPP, by_peer = -EOPNOTSUPP;

    if (!can_flush()) {
        if (!told_failure)
            log_info(
                "gpudirect=no reason=\"the GPU cannot be made to see another device's writes\"");
        told_failure = true;
        return;
    }
    if (mode == CONTROL_GPUDIRECT_AUTO || mode == CONTROL_GPUDIRECT_DMABUF)
        by_buffer = by_dmabuf(region->start, size, &region->registered);
    if (by_buffer && (mode == CONTROL_GPUDIRECT_AUTO || mode == CONTROL_GPUDIRECT_PEERMEM)) {
        how = "peer memory";
        by_peer = by_address(region->start, size, &region->registered);
    }
    if (region->registered && !told_success) {
        told_success = true;
        log_info("gpudirect=yes by=\"%s\"", how);
    } else if (!region->registered && !told_failure) {
        told_failure = true;
        log_info("gpudirect=no for %llu bytes reason=\"dma-buf: %s; peer memory: %s\"",
                 (unsigned long long)size, strerror(-by_buffer), strerror(-by_peer));
    }
}

// ---- the regions ----

static void remove_at(unsigned i)
{
    struct direct_region *region = regions[i];

    regions[i] = regions[--region_count];
    if (region->registered)
        link_unregister(session.link, region->registered);
    free(region);
}

static bool drop_oldest(void)
{
    unsigned oldest = REGIONS_MAX;

    for (unsigned i = 0; i < region_count; i++)
        if (!regions[i]->uses &&
            (oldest == REGIONS_MAX || regions[i]->used < regions[oldest]->used))
            oldest = i;
    if (oldest == REGIONS_MAX)
        return false;
    remove_at(oldest);
    return true;
}

static struct direct_region *find(uint64_t address, uint64_t size, CUcontext context)
{
    for (unsigned i = 0; i < region_count; i++)
        if (regions[i]->context == context && address >= regions[i]->start &&
            address < regions[i]->end && size <= regions[i]->end - address)
            return regions[i];
    return NULL;
}

static struct direct_region *insert(uint64_t address, uint64_t size, CUcontext context)
{
    uint64_t start, end;
    CUcontext owner;

    // Memory of a pool is freed in stream order, so there is no moment at which one could wait until no move uses
    // it.
    if (!allocation_is_plain(address, &start, &end, &owner) || size > end - address ||
        owner != context)
        return NULL;
    if (region_count == REGIONS_MAX && !drop_oldest())
        return NULL;
    struct direct_region *region = calloc(1, sizeof(*region));
    if (!region)
        return NULL;
    *region = (struct direct_region){.start = start, .end = end, .context = context};
    register_memory(region);
    regions[region_count++] = region;
    return region;
}

static bool suits(enum move_kind kind, uint64_t size)
{
    const struct control_worker_settings *settings = &setup.worker;
    bool to = kind == MOVE_TO_DEVICE;
    uint64_t least = to ? settings->gpudirect_to_min : settings->gpudirect_from_min;
    uint64_t most = to ? settings->gpudirect_to_max : settings->gpudirect_from_max;

    return settings->gpudirect != CONTROL_GPUDIRECT_NO && size >= least && (!most || size <= most);
}

struct direct_region *direct_hold(enum move_kind kind, CUdeviceptr address, uint64_t size,
                                  CUcontext context)
{
    if (!suits(kind, size))
        return NULL;
    SCOPED_LOCK(&lock);
    struct direct_region *region = find(address, size, context);
    if (!region)
        region = insert(address, size, context);
    if (region) {
        region->used = ++moves_ever;
        if (region->registered)
            region->uses++;
        else
            region = NULL;
    }
    return region;
}

void direct_release(struct direct_region *region)
{
    SCOPED_LOCK(&lock);
    if (--region->uses == 0)
        pthread_cond_broadcast(&released);
}

struct link_registered *direct_registered(const struct direct_region *region)
{
    return region->registered;
}

// The next region that is to be given up: one of CONTEXT, or, where that is NULL, the one that starts at START.
static unsigned next_of(uint64_t start, CUcontext context)
{
    unsigned i = 0;

    while (i < region_count &&
           !(context ? regions[i]->context == context : regions[i]->start == start))
        i++;
    return i;
}

static void forget(uint64_t start, CUcontext context)
{
    unsigned i;

    SCOPED_LOCK(&lock);
    while ((i = next_of(start, context)) < region_count) {
        if (regions[i]->uses)
            pthread_cond_wait(&released, &lock);
        else
            remove_at(i);
    }
}

void direct_forget(CUdeviceptr start)
{
    forget(start, NULL);
}

static void forget_context(CUcontext context)
{
    forget(0, context);
}

void direct_start(void)
{
    context_watch(forget_context);
}
