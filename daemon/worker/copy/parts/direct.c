// SPDX-License-Identifier: BSD-3-Clause
// Registers device memory with the RDMA device, one allocation at a time, when it is first copied.
// An allocation stays registered until it is freed, or is the one unused for the longest time when
// there are too many.
//
// Registration uses a dma-buf if driver, device and kernel support them; else the address, with the
// kernel module nvidia-peermem (memory of the software GPU needs no module). Sources: CUDA Driver
// API, cuMemGetHandleForAddressRange and cuFlushGPUDirectRDMAWrites; "GPUDirect RDMA" of the CUDA
// documentation; ibv_reg_dmabuf_mr(3).
#include "daemon/worker/copy/parts/direct.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/control.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "transport/link/link.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/core/setup.h"
#include "worker_driver.h"

enum { REGIONS_MAX = 256, PAGE = 4096 };

struct direct_region {
    struct link *link;
    uint64_t start, end;
    CUcontext context; // it dies with it
    bool exposed;
    struct link_registered *registered; // NULL: cannot be, which is remembered
    unsigned uses;
    uint64_t used; // number of the move that used it last
};

static struct direct_region *regions[REGIONS_MAX];
static unsigned region_count;
static uint64_t moves_ever;
static bool reported_success, reported_failure;
static char means[200];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;

// ---- registering ----

static int direct_attribute(CUdevice_attribute which)
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

    if (!driver.cuMemGetHandleForAddressRange ||
        !direct_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED))
        return -EOPNOTSUPP;
    CUresult result = driver.cuMemGetHandleForAddressRange(&fd, first, end - first,
                                                           CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    return result == CUDA_SUCCESS ? fd : -EIO;
}

static int by_dmabuf(struct direct_region *region)
{
    uint64_t start = region->start, size = region->end - start;
    int fd = dmabuf_of(start, size);

    if (fd < 0)
        return fd;
    int r = link_register(region->link,
                          &(struct link_local){.base = (void *)(uintptr_t)start,
                                               .size = size,
                                               .dmabuf = fd,
                                               .offset = start % PAGE,
                                               .exposed = region->exposed},
                          &region->registered);
    close(fd);
    return r;
}

static int direct_by_address(struct direct_region *region)
{
    return link_register(region->link,
                         &(struct link_local){.base = (void *)(uintptr_t)region->start,
                                              .size = region->end - region->start,
                                              .dmabuf = -1,
                                              .exposed = region->exposed},
                         &region->registered);
}

// Returns true if the GPU sees another device's writes: by itself, as some GPUs do, or after a call
// of the driver that makes them visible.
static bool can_flush(void)
{
    return direct_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
               CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER ||
           (driver.cuFlushGPUDirectRDMAWrites &&
            direct_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) &
                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST);
}

CUresult direct_flush(void)
{
    if (direct_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
        CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER)
        return CUDA_SUCCESS;
    return driver.cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                             CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

static void tell_failure(const struct direct_region *region, const char *why)
{
    if (!reported_failure)
        log_info("gpudirect=no for %llu bytes reason=\"%s\"",
                 (unsigned long long)(region->end - region->start), why);
    reported_failure = true;
    if (!reported_success)
        snprintf(means, sizeof(means), "staged: %s", why);
}

static void register_memory(struct direct_region *region)
{
    enum control_gpudirect mode = (enum control_gpudirect)setup.worker.gpudirect;
    const char *how = "dma-buf";
    int by_buffer = -EOPNOTSUPP, by_peer = -EOPNOTSUPP;

    if (!can_flush()) {
        tell_failure(region, "the GPU cannot be made to see another device's writes");
        return;
    }
    if (mode == CONTROL_GPUDIRECT_AUTO || mode == CONTROL_GPUDIRECT_DMABUF)
        by_buffer = by_dmabuf(region);
    if (by_buffer && (mode == CONTROL_GPUDIRECT_AUTO || mode == CONTROL_GPUDIRECT_PEERMEM)) {
        how = "peer memory";
        by_peer = direct_by_address(region);
    }
    if (region->registered && !reported_success) {
        reported_success = true;
        log_info("gpudirect=yes by=\"%s\"", how);
        snprintf(means, sizeof(means), "gpudirect by %s", how);
    }
    if (region->registered)
        return;
    char why[150];
    snprintf(why, sizeof(why), "dma-buf: %s; peer memory: %s", strerror(-by_buffer),
             strerror(-by_peer));
    tell_failure(region, why);
}

// ---- the regions ----

static void direct_remove_at(unsigned i)
{
    struct direct_region *region = regions[i];

    regions[i] = regions[--region_count];
    if (region->registered)
        link_unregister(region->link, region->registered);
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
    direct_remove_at(oldest);
    return true;
}

static bool direct_serves(const struct direct_region *region, const struct direct_move *move)
{
    return region->link == move->link && region->context == move->context &&
           region->exposed >= move->exposed && move->address >= region->start &&
           move->address < region->end && move->size <= region->end - move->address;
}

static struct direct_region *direct_find(const struct direct_move *move)
{
    for (unsigned i = 0; i < region_count; i++)
        if (direct_serves(regions[i], move))
            return regions[i];
    return NULL;
}

// Memory of a pool is freed in stream order, so there is no moment at which one could wait until no
// move uses it.
static bool direct_is_plain(const struct direct_move *move, uint64_t *start, uint64_t *end)
{
    CUcontext owner;

    return allocation_is_plain(move->address, start, end, &owner) &&
           move->size <= *end - move->address && owner == move->context;
}

static struct direct_region *direct_insert(const struct direct_move *move)
{
    uint64_t start, end;

    if (!direct_is_plain(move, &start, &end))
        return NULL;
    if (region_count == REGIONS_MAX && !drop_oldest())
        return NULL;
    struct direct_region *region = calloc(1, sizeof(*region));
    if (!region)
        return NULL;
    *region = (struct direct_region){.link = move->link,
                                     .start = start,
                                     .end = end,
                                     .context = move->context,
                                     .exposed = move->exposed};
    register_memory(region);
    regions[region_count++] = region;
    return region;
}

bool direct_may_hold(const struct direct_move *move)
{
    uint64_t start, end;

    if (setup.worker.gpudirect == CONTROL_GPUDIRECT_NO)
        return false;
    SCOPED_LOCK(&lock);
    const struct direct_region *region = direct_find(move);
    if (region)
        return region->registered;
    return direct_is_plain(move, &start, &end);
}

// Under lock.
static struct direct_region *hold(struct direct_region *region)
{
    if (!region)
        return NULL;
    region->used = ++moves_ever;
    if (!region->registered)
        return NULL;
    region->uses++;
    return region;
}

struct direct_region *direct_hold(const struct direct_move *move)
{
    if (setup.worker.gpudirect == CONTROL_GPUDIRECT_NO)
        return NULL;
    SCOPED_LOCK(&lock);
    struct direct_region *region = direct_find(move);
    return hold(region ? region : direct_insert(move));
}

struct direct_region *direct_hold_registered(const struct direct_move *move)
{
    SCOPED_LOCK(&lock);
    return hold(direct_find(move));
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

uint32_t direct_key(const struct direct_region *region)
{
    return link_registered_key(region->link, region->registered);
}

const char *direct_means(void)
{
    return means;
}

// The criterion for regions to give up.
struct condemned {
    const struct link *link;
    CUcontext context; // where that is NULL
    uint64_t start;    // where both are
};

static bool is_condemned(const struct direct_region *region, const struct condemned *which)
{
    return which->link      ? region->link == which->link
           : which->context ? region->context == which->context
                            : region->start == which->start;
}

static unsigned next_of(const struct condemned *which)
{
    unsigned i = 0;

    while (i < region_count && !is_condemned(regions[i], which))
        i++;
    return i;
}

static void forget(const struct condemned *which)
{
    unsigned i;

    SCOPED_LOCK(&lock);
    while ((i = next_of(which)) < region_count) {
        if (regions[i]->uses)
            pthread_cond_wait(&released, &lock);
        else
            direct_remove_at(i);
    }
}

void direct_forget(CUdeviceptr start)
{
    forget(&(struct condemned){.start = start});
}

static void direct_forget_context(CUcontext context)
{
    forget(&(struct condemned){.context = context});
}

void direct_forget_link(const struct link *link)
{
    forget(&(struct condemned){.link = link});
}

static void start(void)
{
    context_watch(direct_forget_context);
}

void direct_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start);
}
