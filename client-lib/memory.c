// Device memory: allocation, and the record of every address that the program may hold.
#include "client-lib/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client-lib/exports.h"
#include "client-lib/object.h"
#include "client-lib/ranges.h"
#include "client-lib/stream.h"
#include "client-lib/thread.h"
#include "common/log.h"

enum { PAGE = 4096, CLASH_RETRIES = 16 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ranges allocations; // value: struct allocation
static struct ranges reserved;    // address space kept free of host memory; value: the session
static uint64_t next_id = 1;

// Keeps host memory of this process away from the device's addresses, page by page as they are
// first seen. They stay reserved when the memory is freed: drivers use them again.
static int reserve_addresses(uint64_t base, uint64_t size, struct session *session)
{
    uint64_t at = base & ~(uint64_t)(PAGE - 1);
    uint64_t end = (base + size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    while (at < end) {
        struct range *next = ranges_at_or_after(&reserved, at);
        if (next && next->base <= at) {
            if (next->value != session)
                return -EEXIST;
            at = next->base + next->size;
            continue;
        }
        uint64_t until = next && next->base < end ? next->base : end;
        void *got = mmap((void *)at, until - at, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == MAP_FAILED)
            return errno == EEXIST ? -EEXIST : -ENOMEM;
        if (got != (void *)at) {
            munmap(got, until - at);
            return -EEXIST;
        }
        int err = ranges_add(&reserved, at, until - at, session);
        if (err) {
            munmap(got, until - at);
            return err;
        }
        at = until;
    }
    return 0;
}

int memory_add(const struct allocation *allocation)
{
    struct allocation *row = malloc(sizeof(*row));
    if (!row)
        return -ENOMEM;
    *row = *allocation;
    pthread_rwlock_wrlock(&lock);
    row->id = next_id++;
    int err = row->host ? 0 : reserve_addresses(row->base, row->size, row->session);
    if (!err)
        err = ranges_add(&allocations, row->base, row->size, row);
    pthread_rwlock_unlock(&lock);
    if (err)
        free(row);
    return err;
}

bool memory_remove(uint64_t base, struct allocation *out)
{
    void *row = NULL;
    pthread_rwlock_wrlock(&lock);
    bool found = ranges_remove(&allocations, base, &row);
    pthread_rwlock_unlock(&lock);
    if (found) {
        *out = *(struct allocation *)row;
        free(row);
    }
    return found;
}

bool memory_find(uint64_t address, struct allocation *out)
{
    pthread_rwlock_rdlock(&lock);
    const struct range *range = ranges_find(&allocations, address);
    if (range)
        *out = *(const struct allocation *)range->value;
    pthread_rwlock_unlock(&lock);
    return range != NULL;
}

void memory_forget_context(uint64_t context)
{
    pthread_rwlock_wrlock(&lock);
    size_t kept = 0;
    for (size_t i = 0; i < allocations.count; i++) {
        struct allocation *row = allocations.rows[i].value;
        if (!row->host && !row->pool && row->context == context)
            free(row);
        else
            allocations.rows[kept++] = allocations.rows[i];
    }
    allocations.count = kept;
    pthread_rwlock_unlock(&lock);
}

CUresult memory_enter(const struct allocation *allocation, bool *entered)
{
    struct object *current;
    *entered = false;
    if (thread_context_object(&current) == CUDA_SUCCESS && current->session == allocation->session)
        return CUDA_SUCCESS;
    CUresult result = cuCtxPushCurrent_v2((CUcontext)(uintptr_t)allocation->context);
    *entered = result == CUDA_SUCCESS;
    return result;
}

void memory_leave(bool entered)
{
    if (entered)
        cuCtxPopCurrent_v2(NULL);
}

static int enter(CUdeviceptr base, uint64_t size, const struct object *context, CUmemoryPool pool)
{
    struct allocation allocation = {.base = base, .size = size, .session = context->session,
                                    .context = context->handle, .device = context->ctx.device,
                                    .pool = pool};
    return memory_add(&allocation);
}

// One way of allocating, with what it needs.
struct request {
    CUresult (*allocate)(struct request *request, CUdeviceptr *dptr);
    CUresult (*release)(struct request *request, CUdeviceptr dptr);
    size_t size; // in: bytes asked for; out: bytes that the allocation covers
    size_t width, height;
    unsigned int element;
    size_t pitch;
    CUmemoryPool pool;
    CUstream stream;
};

// Allocates, and asks for other memory while the addresses that come are taken here. What is of
// no use is held until the end, so that it does not come again.
static CUresult allocate(struct request *request, CUdeviceptr *dptr)
{
    struct object *context;
    CUdeviceptr clashing[CLASH_RETRIES];
    int clashes = 0;
    CUresult result = thread_context_object(&context);
    if (result == CUDA_SUCCESS && !dptr)
        result = CUDA_ERROR_INVALID_VALUE;
    while (result == CUDA_SUCCESS) {
        CUdeviceptr got;
        result = request->allocate(request, &got);
        if (result != CUDA_SUCCESS)
            break;
        int err = enter(got, request->size, context, request->pool);
        if (!err) {
            *dptr = got;
            break;
        }
        if (err != -EEXIST || clashes == CLASH_RETRIES) {
            log_error("no usable device address address=0x%llx size=%zu error=\"%s\"",
                      (unsigned long long)got, request->size, strerror(-err));
            request->release(request, got);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            clashing[clashes++] = got;
        }
    }
    while (clashes)
        request->release(request, clashing[--clashes]);
    return result;
}

static CUresult allocate_plain(struct request *request, CUdeviceptr *dptr)
{
    return remote_cuMemAlloc_v2(dptr, request->size);
}

static CUresult release_plain(struct request *request, CUdeviceptr dptr)
{
    return remote_cuMemFree_v2(dptr);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct request request = {allocate_plain, release_plain, .size = bytesize};
    return allocate(&request, dptr);
}

static CUresult allocate_pitched(struct request *request, CUdeviceptr *dptr)
{
    CUresult result = remote_cuMemAllocPitch_v2(dptr, &request->pitch, request->width,
                                                request->height, request->element);
    request->size = request->pitch * request->height;
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes)
{
    struct request request = {allocate_pitched, release_plain, .width = WidthInBytes,
                              .height = Height, .element = ElementSizeBytes};
    if (!pPitch)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = allocate(&request, dptr);
    if (result == CUDA_SUCCESS)
        *pPitch = request.pitch;
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    struct allocation gone;
    if (!dptr) {
        struct object *context;
        return thread_context_object(&context);
    }
    // Forgotten first: once the box has freed it, another thread may be given the same address.
    if (!memory_find(dptr, &gone) || gone.host || gone.base != dptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!memory_remove(dptr, &gone))
        return CUDA_ERROR_INVALID_VALUE;
    bool entered;
    CUresult result = memory_enter(&gone, &entered);
    if (result == CUDA_SUCCESS)
        result = remote_cuMemFree_v2(dptr);
    memory_leave(entered);
    if (result == CUDA_ERROR_INVALID_VALUE)
        (void)memory_add(&gone);
    return result;
}

static CUresult allocate_async(struct request *request, CUdeviceptr *dptr)
{
    if (request->pool)
        return remote_cuMemAllocFromPoolAsync(dptr, request->size, request->pool,
                                              request->stream);
    return remote_cuMemAllocAsync(dptr, request->size, request->stream);
}

static CUresult release_async(struct request *request, CUdeviceptr dptr)
{
    return remote_cuMemFreeAsync(dptr, request->stream);
}

static CUresult alloc_async(CUdeviceptr *dptr, size_t size, CUmemoryPool pool, CUstream stream)
{
    struct request request = {allocate_async, release_async, .size = size, .pool = pool,
                              .stream = stream};
    return allocate(&request, dptr);
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return alloc_async(dptr, bytesize, NULL, hStream);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return alloc_async(dptr, bytesize, NULL, stream_per_thread(hStream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream)
{
    return pool ? alloc_async(dptr, bytesize, pool, hStream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream)
{
    return cuMemAllocFromPoolAsync(dptr, bytesize, pool, stream_per_thread(hStream));
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct allocation gone;
    if (!memory_find(dptr, &gone) || gone.host || gone.base != dptr)
        return CUDA_ERROR_INVALID_VALUE;
    // Nobody is given this address again before the box has seen this request: they are in order.
    if (!memory_remove(dptr, &gone))
        return CUDA_ERROR_INVALID_VALUE;
    return remote_cuMemFreeAsync(dptr, hStream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return cuMemFreeAsync(dptr, stream_per_thread(hStream));
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct object *context;
    struct allocation found;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!memory_find(dptr, &found))
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = found.base;
    if (psize)
        *psize = found.size;
    return CUDA_SUCCESS;
}
