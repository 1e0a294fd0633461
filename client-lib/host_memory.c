// Page-locked host memory. Where the link shares memory the worker maps the same pages at the same
// address, and the GPU reads and writes them directly; elsewhere it is ordinary memory that copies
// may treat as page-locked.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "client-lib/copy.h"
#include "client-lib/exports.h"
#include "client-lib/memory.h"
#include "client-lib/object.h"
#include "client-lib/thread.h"
#include "common/log.h"

enum { PAGE = 4096, PLACE_RETRIES = 16 };

static _Atomic uint32_t next_region = 1;

static size_t page_round(size_t size)
{
    return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static int sealed_memory(size_t size)
{
    int fd = memfd_create("rgpu-host-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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
static void *map_apart(int fd, size_t size)
{
#ifndef __SANITIZE_THREAD__ // which has no shadow for such addresses
    const uint64_t low = UINT64_C(0x200000000000), places = 0xc0000; // of 64 MiB, 48 TiB in all
    uint64_t random = 0;
    for (int tries = 0; tries < 4; tries++) {
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
            break;
        void *place = (void *)(low + random % places * (UINT64_C(64) << 20));
        void *at = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
                        0);
        if (at == place)
            return at;
        if (at != MAP_FAILED) // a kernel that takes the address for a hint
            munmap(at, size);
    }
#endif
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

// Maps the file where the worker can map it too. The worker says when it cannot; then another
// place is tried while the refused ones are held.
static CUresult map_shared(struct session *session, int fd, size_t size, unsigned int flags,
                           uint32_t region, void **memory, uint64_t *device_address)
{
    void *refused[PLACE_RETRIES];
    int refusals = 0;
    CUresult result = CUDA_ERROR_ALREADY_MAPPED;
    while (result == CUDA_ERROR_ALREADY_MAPPED && refusals < PLACE_RETRIES) {
        void *at = map_apart(fd, size);
        if (at == MAP_FAILED) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        // A child of a fork would share these pages with the GPU: it does not get them.
        madvise(at, size, MADV_DONTFORK);
        result = link_send_region(session->link, region, fd) == 0
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

static CUresult allocate_shared(struct session *session, size_t size, unsigned int flags,
                                struct allocation *allocation)
{
    uint32_t region = atomic_fetch_add(&next_region, 1);
    if (region >= WIRE_REGION_LIMIT)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int fd = sealed_memory(size);
    if (fd < 0) {
        log_warn("no shared memory for page-locked memory size=%zu error=\"%s\"", size,
                 strerror(-fd));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void *memory = NULL;
    CUresult result = map_shared(session, fd, size, flags, region, &memory,
                                 &allocation->device_address);
    close(fd);
    allocation->base = (uintptr_t)memory;
    allocation->region = region;
    allocation->mapped = true;
    return result;
}

// Has the box read and write this memory by itself. Where it cannot be registered, copies go through
// staging blocks, as those of ordinary memory do.
static void let_reach(struct allocation *allocation)
{
    struct link *link = allocation->session->link;
    void *base = (void *)(uintptr_t)allocation->base;
    uint32_t key, region = atomic_fetch_add(&next_region, 1);
    if (region >= WIRE_REGION_LIMIT || link_expose(link, base, allocation->size, &key) != 0)
        return;
    allocation->region = region;
    allocation->reached =
        remote_host_reach(allocation->base, allocation->size, region, key) == CUDA_SUCCESS;
    if (!allocation->reached)
        link_conceal(link, base, allocation->size);
}

// Ends the box's use of host memory: copies that still run are waited for.
static CUresult stop_using(const struct allocation *allocation)
{
    CUresult result = CUDA_SUCCESS;
    // Otherwise it went with its context.
    if (object_find(HANDLE_CONTEXT, (void *)(uintptr_t)allocation->context)) {
        bool entered;
        result = memory_enter(allocation, &entered);
        if (result == CUDA_SUCCESS)
            result = allocation->mapped || allocation->reached
                         ? remote_host_unmap(allocation->region)
                         : remote_cuCtxSynchronize();
        memory_leave(entered);
    }
    if (allocation->reached)
        link_conceal(allocation->session->link, (void *)(uintptr_t)allocation->base,
                     allocation->size);
    return result;
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    unsigned int known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                         CU_MEMHOSTALLOC_WRITECOMBINED;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pp || !bytesize || (Flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;

    size_t size = page_round(bytesize);
    struct allocation allocation = {.size = size, .host = true, .host_flags = Flags,
                                    .session = context->session, .context = context->handle,
                                    .device = context->ctx.device};
    if (context->session->staging && !context->session->reached) {
        result = allocate_shared(context->session, size, Flags, &allocation);
    } else {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        result = memory == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
        allocation.base = (uintptr_t)memory;
        if (result == CUDA_SUCCESS && context->session->reached) {
            // As the pages of shared memory: a child of a fork does not get them.
            madvise(memory, size, MADV_DONTFORK);
            let_reach(&allocation);
        }
    }
    if (result == CUDA_SUCCESS && memory_add(&allocation) != 0) {
        if (allocation.reached)
            stop_using(&allocation);
        munmap((void *)(uintptr_t)allocation.base, size);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result == CUDA_SUCCESS)
        *pp = (void *)(uintptr_t)allocation.base;
    return result;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return cuMemHostAlloc(pp, bytesize, 0);
}

static CUresult release(void *p, bool registered)
{
    struct object *context;
    struct allocation gone;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!p || !memory_find((uintptr_t)p, &gone) || !gone.host || gone.base != (uintptr_t)p ||
        gone.registered != registered)
        return registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
    result = stop_using(&gone);
    if (memory_remove((uintptr_t)p, &gone) && !registered)
        munmap(p, gone.size);
    return result;
}

CUresult cuMemFreeHost(void *p)
{
    return release(p, false);
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    unsigned int known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                         CU_MEMHOSTREGISTER_READ_ONLY;
    struct object *context;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!p || !bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    if (Flags & ~known)
        return (Flags & CU_MEMHOSTREGISTER_IOMEMORY) ? CUDA_ERROR_NOT_SUPPORTED
                                                     : CUDA_ERROR_INVALID_VALUE;
    struct allocation allocation = {.base = (uintptr_t)p, .size = bytesize, .host = true,
                                    .registered = true, .host_flags = Flags,
                                    .session = context->session, .context = context->handle,
                                    .device = context->ctx.device};
    if (context->session->reached && !(Flags & CU_MEMHOSTREGISTER_READ_ONLY))
        let_reach(&allocation);
    int err = memory_add(&allocation);
    if (err && allocation.reached)
        stop_using(&allocation);
    return !err ? CUDA_SUCCESS
           : err == -EEXIST ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                            : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void *p)
{
    return release(p, true);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct object *context;
    struct allocation found;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pdptr || Flags || !memory_find((uintptr_t)p, &found) || !found.host)
        return CUDA_ERROR_INVALID_VALUE;
    if (!found.mapped || found.session != context->session)
        return CUDA_ERROR_NOT_SUPPORTED;
    *pdptr = found.device_address + ((uintptr_t)p - found.base);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct object *context;
    struct allocation found;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pFlags || !memory_find((uintptr_t)p, &found) || !found.host || found.registered)
        return CUDA_ERROR_INVALID_VALUE;
    *pFlags = found.host_flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
