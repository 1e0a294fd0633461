// SPDX-License-Identifier: BSD-3-Clause
// Page-locked host memory. If the link shares memory, the worker maps the same pages at the same
// address, and the GPU reads and writes them directly. Otherwise it is ordinary memory that copies
// may treat as page-locked.
#include "client-lib/cuda/memory/page_locked.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/memory/mapped_file.h"
#include "client-lib/cuda/objects/object.h"
#include "client-lib/cuda/memory/regions.h"
#include "client_calls.h"
#include "common/base/available.h"
#include "common/base/descriptor.h"
#include "common/base/log.h"
#include "common/base/resident.h"

enum { PAGE = 4096, PLACE_RETRIES = 16 };

size_t page_locked_round(size_t size)
{
    return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

// Returns false if the kernel would end the program by SIGXFSZ for a file in memory of SIZE bytes.
static bool may_have_file(size_t size)
{
    struct rlimit limit;

    return !getrlimit(RLIMIT_FSIZE, &limit) && size <= limit.rlim_cur;
}

static int sealed_memory(size_t size)
{
    if (!may_have_file(size))
        return -ENOMEM;
    int fd = descriptor_own(memfd_create("rgpu-host-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)size) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

// Maps SIZE bytes in the middle of the address space, far from where kernels put libraries, heaps
// and drivers' reservations, so that the worker finds the place free as well; anywhere, if that
// fails.
static void *map_apart(int fd, size_t size, int kind, int access)
{
    // ThreadSanitizer, which a program may be built with, knows only a part of these addresses.
    bool watched = dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
    uint64_t low = watched ? UINT64_C(0x7e8000000000) : UINT64_C(0x200000000000);
    uint64_t places = watched ? 0x1f00 : 0xc0000; // of 64 MiB, 48 TiB in all
    uint64_t random = 0;
    for (int tries = 0; tries < 4; tries++) {
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
            break;
        void *place = (void *)(low + random % places * (UINT64_C(64) << 20));
        void *at = mmap(place, size, access, kind | MAP_FIXED_NOREPLACE, fd, 0);
        if (at == place)
            return at;
        if (at != MAP_FAILED) // the kernel takes the address as a hint only
            munmap(at, size);
    }
    return mmap(NULL, size, access, kind, fd, 0);
}

void *page_locked_hold_place(size_t size)
{
    void *at = map_apart(-1, size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, PROT_NONE);
    return at == MAP_FAILED ? NULL : at;
}

// Maps the file at an address where the worker can map it, too. If the worker reports that it
// cannot, this tries another address while the refused ones are held.
static CUresult page_locked_map_shared(struct box_session *session, int fd, size_t size,
                                       unsigned int flags, uint32_t region, void **memory,
                                       uint64_t *device_address)
{
    void *refused[PLACE_RETRIES];
    int refusals = 0;
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    while (result == CUDA_ERROR_ALREADY_MAPPED && refusals < PLACE_RETRIES) {
        void *at = map_apart(fd, size, MAP_SHARED, PROT_READ | PROT_WRITE);
        if (at == MAP_FAILED) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        // A forked child would share these pages with the GPU, so it does not get them.
        madvise(at, size, MADV_DONTFORK);
        result = !memory_make_resident(at, size) ? CUDA_ERROR_OUT_OF_MEMORY
                 : link_send_region(session->link, region, fd) == 0
                     ? remote_host_map((uintptr_t)at, size, region, flags, device_address)
                     : CUDA_ERROR_DEVICE_UNAVAILABLE;
        if (result == CUDA_SUCCESS)
            *memory = at;
        else
            refused[refusals++] = at;
    }
    while (refusals)
        munmap(refused[--refusals], size);
    return result;
}

// The kernel would allocate shared memory as long as it can kill other processes for it.
static bool host_has(size_t size)
{
    uint64_t available = memory_available();
    if (size < available)
        return true;
    log_warn("no page-locked memory: this host has less than that available size=%zu "
             "available=%llu",
             size, (unsigned long long)available);
    return false;
}

static CUresult allocate_shared(struct allocation *allocation)
{
    size_t size = allocation->size;
    uint32_t region = 0;
    if (!host_has(size) || (region = region_take()) == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int fd = sealed_memory(size);
    if (fd < 0)
        log_warn("no shared memory for page-locked memory size=%zu error=\"%s\"", size,
                 strerror(-fd));
    void *memory = NULL;
    CUresult result = fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY
                             : page_locked_map_shared(allocation->session, fd, size,
                                                      allocation->host_flags, region, &memory,
                                                      &allocation->device_address);
    if (fd >= 0)
        close(fd);
    if (result != CUDA_SUCCESS) {
        region_give(region);
        return result;
    }
    allocation->base = (uintptr_t)memory;
    allocation->region = region;
    allocation->mapped = true;
    return CUDA_SUCCESS;
}

// ---- in the window of a virtual machine ----

// Holds the addresses until the box reports where in the window the memory is.
static CUresult map_window(struct allocation *allocation, void *held)
{
    uint64_t place = 0;
    CUresult result = remote_host_map_window((uintptr_t)held, allocation->size, allocation->region,
                                             allocation->host_flags, &place,
                                             &allocation->device_address);
    if (result != CUDA_SUCCESS)
        return result;
    void *at = mmap(held, allocation->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    link_window(allocation->session->link), (off_t)place);
    if (at == MAP_FAILED) {
        remote_host_unmap(allocation->region);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    madvise(at, allocation->size, MADV_DONTFORK);
    allocation->base = (uintptr_t)at;
    allocation->mapped = true;
    return CUDA_SUCCESS;
}

static CUresult allocate_in_window(struct allocation *allocation)
{
    void *refused[PLACE_RETRIES];
    int refusals = 0;
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    allocation->region = region_take();
    if (!allocation->region)
        return CUDA_ERROR_OUT_OF_MEMORY;
    while (result == CUDA_ERROR_ALREADY_MAPPED && refusals < PLACE_RETRIES) {
        void *held = page_locked_hold_place(allocation->size);
        result = held ? map_window(allocation, held) : CUDA_ERROR_OUT_OF_MEMORY;
        if (held && result != CUDA_SUCCESS)
            refused[refusals++] = held;
    }
    while (refusals)
        munmap(refused[--refusals], allocation->size);
    if (result != CUDA_SUCCESS)
        region_give(allocation->region);
    return result;
}

// Lets the box read and write this memory by RDMA. If it cannot be registered, copies go through
// staging blocks, as those of ordinary memory do.
static void let_reach(struct allocation *allocation)
{
    struct link *link = allocation->session->link;
    void *base = (void *)(uintptr_t)allocation->base;
    uint32_t key, region = region_take();
    bool exposed = region && link_expose(link, base, allocation->size, &key) == 0;
    allocation->reached = exposed && remote_host_reach(allocation->base, allocation->size, region,
                                                       key) == CUDA_SUCCESS;
    if (exposed && !allocation->reached)
        link_conceal(link, base, allocation->size);
    if (allocation->reached)
        allocation->region = region;
    else
        region_give(region);
}

// ---- files that the program shares ----

// Returns an address that this process does not use, nor the worker as far as is known; 0: none is
// left.
static uint64_t unused_place(size_t size)
{
    void *at = page_locked_hold_place(size);
    if (at)
        munmap(at, size);
    return (uintptr_t)at;
}

CUresult page_locked_enter_elsewhere(const struct allocation *allocation, uint64_t place,
                                     size_t size, bool mirrored)
{
    struct allocation other = {.base = place,
                               .size = size,
                               .mirrored = mirrored,
                               .session = allocation->session,
                               .context = allocation->context,
                               .device = allocation->device};
    int err = memory_add(&other);
    return !err             ? CUDA_SUCCESS
           : err == -EEXIST ? CUDA_ERROR_ALREADY_MAPPED
                            : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult map_at(struct allocation *allocation, uint64_t place, size_t size, int fd,
                       uint64_t offset)
{
    struct link *link = allocation->session->link;
    uint64_t page = allocation->base & ~(uint64_t)(PAGE - 1), device = 0;
    CUresult result = link_send_region(link, allocation->region, fd) == 0
                          ? remote_host_map_file(place, size, offset, allocation->region, &device)
                          : CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (result != CUDA_SUCCESS)
        return result;
    if (place != page)
        result = page_locked_enter_elsewhere(allocation, place, size, false);
    if (result != CUDA_SUCCESS) {
        remote_host_unmap(allocation->region);
        return result;
    }
    allocation->mapped = true;
    allocation->elsewhere = place != page ? place : 0;
    allocation->device_address = device + allocation->region_offset;
    return CUDA_SUCCESS;
}

// Lets the box map the program's own file, so that the GPU has its memory, too: at the same
// addresses if they are free there.
static CUresult page_locked_map_file(struct allocation *allocation, int fd, uint64_t offset,
                                     size_t size)
{
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    uint64_t place = allocation->base - allocation->region_offset;
    for (int tries = 0; result == CUDA_ERROR_ALREADY_MAPPED && tries < PLACE_RETRIES; tries++) {
        result = place ? map_at(allocation, place, size, fd, offset) : CUDA_ERROR_OUT_OF_MEMORY;
        place = unused_place(size);
    }
    return result;
}

// Maps registered memory on the box. If that fails, copies go through staging blocks, as those of
// ordinary memory do.
static void let_map(struct allocation *allocation)
{
    uint64_t offset = 0;
    uint32_t region = region_take();
    allocation->region_offset = (uint32_t)(allocation->base % PAGE);
    uint64_t page = allocation->base - allocation->region_offset;
    size_t size = page_locked_round(allocation->base + allocation->size - page);
    int fd = region ? mapped_file_open(page, size, &offset) : -ENOSPC;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (fd >= 0) {
        allocation->region = region;
        result = page_locked_map_file(allocation, fd, offset, size);
        close(fd);
    }
    if (result != CUDA_SUCCESS)
        region_give(region);
    if (result != CUDA_SUCCESS && fd != -ENXIO)
        log_warn("registered memory is not mapped on the box size=%zu file=%d result=%d", size,
                 fd < 0 ? fd : 0, result);
}

static CUresult stop_box_using(const struct allocation *allocation)
{
    bool entered, known = allocation->mapped || allocation->reached;
    CUresult result = memory_enter(allocation, &entered);
    if (result == CUDA_SUCCESS)
        result = known ? remote_host_unmap(allocation->region) : remote_cuCtxSynchronize();
    memory_leave(entered);
    if (known && result == CUDA_SUCCESS)
        region_give(allocation->region);
    return result;
}

// Ends the box's use of host memory, after waiting for copies that still run.
static CUresult stop_using(const struct allocation *allocation)
{
    // The box's part of the memory ends with the context.
    CUresult result = context_wire(allocation->context) ? stop_box_using(allocation) : CUDA_SUCCESS;
    if (allocation->reached)
        link_conceal(allocation->session->link, (void *)(uintptr_t)allocation->base,
                     allocation->size);
    struct allocation other;
    if (allocation->elsewhere)
        memory_remove(allocation->elsewhere, &other);
    return result;
}

// Allocates ordinary pages, which the box reads and writes by RDMA if it can, and where it can have
// a mirror at the same addresses (managed/mapped_host.h).
static CUresult allocate_private(struct allocation *allocation)
{
    void *memory =
        map_apart(-1, allocation->size, MAP_PRIVATE | MAP_ANONYMOUS, PROT_READ | PROT_WRITE);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    allocation->base = (uintptr_t)memory;
    if (allocation->session->memory->reaches_page_locked) {
        // A forked child does not get these pages, as with shared memory.
        madvise(memory, allocation->size, MADV_DONTFORK);
        let_reach(allocation);
    }
    return CUDA_SUCCESS;
}

// If the window is full or too small, the program still gets memory, but the GPU does not have that
// in its address space.
CUresult page_locked_make(struct allocation *allocation)
{
    const struct memory_model *memory = allocation->session->memory;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (memory->maps_page_locked && !memory->in_window)
        return allocate_shared(allocation);
    if (memory->in_window)
        result = allocate_in_window(allocation);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
        return result;
    if (memory->in_window)
        log_warn("the window of this machine has no room for page-locked memory: it is copied by "
                 "way of staging blocks, and kernels cannot use it size=%llu",
                 (unsigned long long)allocation->size);
    allocation->region = 0;
    return allocate_private(allocation);
}

CUresult page_locked_unmake(const struct allocation *allocation)
{
    CUresult result = stop_using(allocation);
    munmap((void *)(uintptr_t)allocation->base, allocation->size);
    return result;
}

CUresult page_locked_register(const struct object *context, void *memory, size_t bytes,
                              unsigned int flags)
{
    struct allocation allocation = {.base = (uintptr_t)memory,
                                    .size = bytes,
                                    .host = true,
                                    .registered = true,
                                    .host_flags = flags,
                                    .session = context->session,
                                    .context = context->ctx.root,
                                    .device = context->ctx.device};
    if (memory_overlaps(allocation.base, bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    int err = memory_make_lockable(memory, bytes, !(flags & CU_MEMHOSTREGISTER_READ_ONLY));
    if (err)
        return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    if (context->session->memory->reaches_page_locked && !(flags & CU_MEMHOSTREGISTER_READ_ONLY))
        let_reach(&allocation);
    if (context->session->memory->maps_page_locked && !context->session->memory->in_window &&
        !(flags & CU_MEMHOSTREGISTER_READ_ONLY))
        let_map(&allocation);
    // A program that passes DEVICEMAP relies on device pointers, so the call fails if there are
    // none.
    if (context->session->memory->maps_page_locked && !allocation.mapped &&
        !context->session->mirrors_on_demand && (flags & CU_MEMHOSTREGISTER_DEVICEMAP))
        return CUDA_ERROR_NOT_SUPPORTED;
    err = memory_add(&allocation);
    if (err && (allocation.reached || allocation.mapped))
        stop_using(&allocation);
    return !err             ? CUDA_SUCCESS
           : err == -EEXIST ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                            : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult page_locked_unregister(void *memory)
{
    struct allocation gone;
    if (!memory || !memory_find((uintptr_t)memory, &gone) || !gone.host || !gone.registered ||
        gone.base != (uintptr_t)memory || !memory_remove(gone.base, &gone))
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return stop_using(&gone);
}
