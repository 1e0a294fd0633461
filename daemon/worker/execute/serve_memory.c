// SPDX-License-Identifier: BSD-3-Clause
// Device memory. Every allocation of every kind counts against the session's budget.
#include "daemon/worker/execute/serve_memory.h"

#include <stdatomic.h>

#include "common/base/handle_table.h"
#include "proto/wire.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/account/graph_charge.h"
#include "daemon/worker/account/pools.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/copy/parts/held_frees.h"
#include "daemon/worker/copy/parts/direct.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/suspend/movable_memory.h"
#include "daemon/worker/suspend/quiesce.h"
#include "daemon/worker/suspend/streams_query.h"
#include "worker_driver.h"
#include "worker_serve.h"

enum { POOL_WAIT_MS = 2000 };

static int current_device(struct serve *serve)
{
    CUdevice device = 0;

    serve_fail(serve, driver.cuCtxGetDevice(&device));
    return serve_failed(serve) ? 0 : session_device_of(device);
}

// ---- allocations that were not given to the program ----

static CUresult free_ordinary(CUdeviceptr address)
{
    return movable_is(address) ? movable_free(address) : driver.cuMemFree_v2(address);
}

// The driver waits for the GPU when it frees memory, and the GPU may wait for what the program does
// after its allocation. So memory that the program did not get is freed when nothing runs, or by
// the next call that frees memory. Their context is current.
static void free_refused(struct serve *serve)
{
    uint64_t address;

    while ((address = allocation_take_refused(green_root(serve->current)))) {
        direct_forget(address);
        if (free_ordinary(address) == CUDA_SUCCESS)
            allocation_left(address);
    }
}

static void free_refused_if_idle(struct serve *serve)
{
    if (!allocations_refused() || streams_query())
        return;
    serve_sync_begins(serve);
    free_refused(serve);
    serve_sync_ended();
}

// The bytes that the driver takes for an allocation are known only with its address. SIZE is
// counted beforehand, unless it might fit into a page that other allocations have taken already.
static bool serve_memory_take(struct serve *serve, uint64_t size, int *device, uint64_t *counted)
{
    *device = current_device(serve);
    *counted = 0;
    if (serve_failed(serve))
        return false;
    if (!size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return false;
    }
    free_refused_if_idle(serve);
    if (budget_find(*device, size))
        *counted = size;
    else if (size > gpus.list[*device].page / 2 || allocations_refused())
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    return !serve_failed(serve);
}

// Enters an allocation and counts what was taken for it. False: there is no room for that.
static bool serve_memory_enter(uint64_t address, uint64_t size, int device, CUcontext context,
                               uint64_t counted)
{
    if (allocation_add(address, size, device, context, ALLOCATION_DEVICE)) {
        free_ordinary(address);
        budget_give(device, counted);
        return false;
    }
    uint64_t taken = allocation_taken(address);
    if (taken > counted && !budget_find(device, taken - counted)) {
        budget_hold(device, taken - counted);
        allocation_refuse(address);
        return false;
    }
    if (taken < counted)
        budget_give(device, counted - taken);
    return true;
}

static void serve_memory_settle(struct serve *serve, int device, uint64_t size, CUdeviceptr address,
                                uint64_t counted)
{
    if (serve_failed(serve)) {
        budget_give(device, counted);
    } else if (!serve_memory_enter(address, size, device, green_root(serve->current), counted)) {
        free_refused_if_idle(serve);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
}

void serve_cuMemGetInfo_v2(struct serve *serve, const struct args_cuMemGetInfo_v2 *args,
                           struct reply_cuMemGetInfo_v2 *reply)
{
    size_t available = 0, total = 0;

    int ordinal = current_device(serve);
    free_refused_if_idle(serve);
    serve_fail(serve, driver.cuMemGetInfo_v2(&available, &total));
    if (serve_failed(serve))
        return;
    budget_settle();
    uint64_t budget = gpus.list[ordinal].budget;
    uint64_t used = budget_used(ordinal);
    if (budget && budget < total) {
        uint64_t left = used < budget ? budget - used : 0;
        total = budget;
        // If leases take turns, the others give way for this lease's request.
        available = left < available || budget_takes_turns(ordinal) ? left : available;
    }
    reply->free = available;
    reply->total = total;
}

void serve_cuMemAlloc_v2(struct serve *serve, const struct args_cuMemAlloc_v2 *args,
                         struct reply_cuMemAlloc_v2 *reply)
{
    CUdeviceptr address = 0;
    uint64_t counted;
    int device;

    if (!serve_require(serve, driver.cuMemAlloc_v2) ||
        !serve_memory_take(serve, args->bytesize, &device, &counted))
        return;
    quiesce_await_end();
    serve_fail(serve,
               movable_suits(device, args->bytesize)
                   ? movable_allocate(device, args->bytesize, green_root(serve->current), &address)
                   : driver.cuMemAlloc_v2(&address, args->bytesize));
    serve_memory_settle(serve, device, args->bytesize, address, counted);
    reply->dptr = address;
}

// The driver chooses the pitch. It has chosen the next multiple of 512 on every GPU so far, and
// `settle` counts the difference if another driver chooses more. Returns false if no GPU has such
// rows: the driver refuses them.
static bool pitched_size(uint64_t width, uint64_t height, uint64_t *size)
{
    enum { UNIT = 512 };

    return width <= INT32_MAX &&
           !__builtin_mul_overflow((width + UNIT - 1) / UNIT * UNIT, height, size);
}

void serve_cuMemAllocPitch_v2(struct serve *serve, const struct args_cuMemAllocPitch_v2 *args,
                              struct reply_cuMemAllocPitch_v2 *reply)
{
    CUdeviceptr address = 0;
    size_t pitch = 0;
    uint64_t size, counted = 0;
    int device = current_device(serve);

    if (!serve_require(serve, driver.cuMemAllocPitch_v2) ||
        (pitched_size(args->WidthInBytes, args->Height, &size) &&
         !serve_memory_take(serve, size, &device, &counted)))
        return;
    serve_fail(serve, driver.cuMemAllocPitch_v2(&address, &pitch, args->WidthInBytes, args->Height,
                                                args->ElementSizeBytes));
    serve_memory_settle(serve, device, (uint64_t)pitch * args->Height, address, counted);
    reply->dptr = address;
    reply->pPitch = pitch;
}

void serve_cuMemFree_v2(struct serve *serve, const struct args_cuMemFree_v2 *args)
{
    if (!serve_require(serve, driver.cuMemFree_v2) || !args->dptr)
        return;
    // No call finds it from now on: once it is free, another thread may be given the same address.
    // It counts until then, as the driver waits inside for what the GPU still does.
    bool known = allocation_leave(args->dptr);
    if (known)
        direct_forget(args->dptr);
    atomic_fetch_add(&session.memory_epoch, 1);
    serve_fail(serve, free_ordinary(args->dptr));
    if (known && serve_failed(serve))
        allocation_stay(args->dptr);
    else if (known)
        allocation_left(args->dptr);
    if (!serve_failed(serve))
        free_refused(serve);
}

void serve_memory_free(struct serve *serve, const struct args_memory_free *args)
{
    serve_cuMemFree_v2(serve, &(struct args_cuMemFree_v2){.dptr = args->dptr});
}

// The driver refuses SYNC_MEMOPS for memory that is mapped. The client waits itself for copies of
// memory with this attribute.
void serve_cuPointerSetAttribute(struct serve *serve, const struct args_cuPointerSetAttribute *args)
{
    uint64_t start = 0, end = 0;
    CUcontext context;

    if (args->attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS &&
        allocation_is_plain(args->ptr, &start, &end, &context) && movable_is(start))
        return;
    if (serve_require(serve, driver.cuPointerSetAttribute))
        serve_fail(serve, driver.cuPointerSetAttribute(&args->value, args->attribute, args->ptr));
}

// ---- stream-ordered allocation ----

// Without limits, only sizes are counted.
static CUresult allocate_uncounted(CUmemoryPool pool, uint64_t size, CUstream stream,
                                   CUdeviceptr *address)
{
    if (pool)
        return driver.cuMemAllocFromPoolAsync
                   ? driver.cuMemAllocFromPoolAsync(address, size, pool, stream)
                   : CUDA_ERROR_NOT_SUPPORTED;
    return driver.cuMemAllocAsync ? driver.cuMemAllocAsync(address, size, stream)
                                  : CUDA_ERROR_NOT_SUPPORTED;
}

static bool serve_memory_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    return driver.cuStreamIsCapturing &&
           driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// The memory is the graph's, which takes it from the device when it runs.
static void allocate_in_graph(struct serve *serve, CUmemoryPool pool, uint64_t size,
                              CUstream stream, CUdeviceptr *address)
{
    graph_charge_note();
    serve_fail(serve, allocate_uncounted(pool, size, stream, address));
    if (!serve_failed(serve) && allocation_add_of_graph(*address, size))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

// If what has been freed and not passed may be enough, the stream is waited for. The driver reuses
// such memory without a wait, but does not say beforehand whether it will. The wait ends after
// POOL_WAIT_MS, since the stream may wait for this thread of the program.
static CUresult allocate_counted(struct serve *serve, struct pool_account *account, uint64_t size,
                                 CUstream stream, CUdeviceptr *address)
{
    CUresult result = pool_allocate(account, size, stream, address);

    if (result != CUDA_ERROR_OUT_OF_MEMORY || !pool_may_find(account, size))
        return result;
    result = serve_wait_stream_for(serve, stream, POOL_WAIT_MS);
    if (result == CUDA_ERROR_NOT_READY)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return result == CUDA_SUCCESS ? pool_allocate(account, size, stream, address) : result;
}

static void allocate_in_order(struct serve *serve, CUmemoryPool pool, int device, uint64_t size,
                              CUstream stream, CUdeviceptr *address)
{
    if (!serve_failed(serve) && serve_memory_is_captured(stream)) {
        allocate_in_graph(serve, pool, size, stream, address);
        return;
    }
    struct pool_account *account = charges_apply(device) ? pool_account(pool, device) : NULL;

    if (!size)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (charges_apply(device) && !account)
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    if (serve_failed(serve))
        return;
    if (!account) {
        if (!budget_take(device, size)) {
            serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
            return;
        }
        serve_fail(serve, allocate_uncounted(pool, size, stream, address));
        if (serve_failed(serve) ||
            allocation_add(*address, size, device, green_root(serve->current), ALLOCATION_POOL)) {
            budget_give(device, size);
            serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        }
        return;
    }
    serve_fail(serve, allocate_counted(serve, account, size, stream, address));
    if (!serve_failed(serve) &&
        allocation_add_pooled(*address, size, device, green_root(serve->current), account)) {
        driver.cuMemFreeAsync(*address, stream);
        pool_note_free(account, size);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
}

void serve_cuMemAllocAsync(struct serve *serve, const struct args_cuMemAllocAsync *args,
                           struct reply_cuMemAllocAsync *reply, CUstream stream)
{
    int device = current_device(serve);
    CUmemoryPool pool = NULL;
    CUdeviceptr address = 0;

    if (!serve_require(serve, driver.cuMemAllocAsync))
        return;
    if (charges_apply(device) && serve_require(serve, driver.cuDeviceGetMemPool))
        serve_fail(serve, driver.cuDeviceGetMemPool(&pool, gpus.list[device].handle));
    allocate_in_order(serve, pool, device, args->bytesize, stream, &address);
    reply->dptr = address;
}

void serve_cuMemAllocFromPoolAsync(struct serve *serve,
                                   const struct args_cuMemAllocFromPoolAsync *args,
                                   struct reply_cuMemAllocFromPoolAsync *reply, CUmemoryPool pool,
                                   CUstream stream)
{
    CUdeviceptr address = 0;

    allocate_in_order(serve, pool, session.notes[handle_index(args->pool)].pool_device,
                      args->bytesize, stream, &address);
    reply->dptr = address;
}

// The driver unmaps memory at once, also memory that the GPU uses. So the memory is freed as what
// the program did not get: when nothing runs, or by the next call that frees memory.
static void free_movable_later(struct serve *serve, CUdeviceptr address)
{
    uint64_t start = 0, end = 0;
    CUcontext context;

    if (!allocation_is_plain(address, &start, &end, &context) || start != address)
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else
        allocation_refuse(address);
    atomic_fetch_add(&session.memory_epoch, 1);
}

void serve_cuMemFreeAsync(struct serve *serve, const struct args_cuMemFreeAsync *args,
                          CUstream stream)
{
    uint64_t start = 0, end = 0;

    bool captured = serve_memory_is_captured(stream);
    if (!captured && movable_is(args->dptr)) {
        free_movable_later(serve, args->dptr);
        return;
    }
    bool behind = allocation_find(args->dptr, &start, &end) && start == args->dptr &&
                  memory_is_copied(start, end) && !captured;
    bool known = !captured && allocation_leave(args->dptr);
    serve_fail(serve, behind ? free_behind_copies(start, end, stream, serve->current)
                             : driver.cuMemFreeAsync(args->dptr, stream));
    if (known && serve_failed(serve))
        allocation_stay(args->dptr);
    else if (known)
        allocation_left_behind(args->dptr, serve->current, stream);
    atomic_fetch_add(&session.memory_epoch, 1);
}

static bool translate_location(struct serve *serve, CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
        // Pools in our host memory would not be the client's.
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
        return false;
    }
    location->id = serve_device(serve, location->id);
    return !serve_failed(serve);
}

// The driver's own functions, which the generated handlers call through these: places name devices
// of the session there.
static CUresult (*set_access)(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
static CUresult (*get_access)(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location);

static bool place_in_driver(CUmemLocation *location)
{
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return true;
    if (location->id < 0 || (unsigned)location->id >= session.device_count)
        return false;
    location->id = gpus.list[session.ordinals[location->id]].handle;
    return true;
}

static CUresult set_access_in_session(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    CUmemAccessDesc here[WIRE_DEVICE_MAX];

    if (count > WIRE_DEVICE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        here[i] = map[i];
        if (!place_in_driver(&here[i].location))
            return CUDA_ERROR_INVALID_DEVICE;
    }
    return set_access(pool, here, count);
}

static CUresult get_access_in_session(CUmemAccess_flags *flags, CUmemoryPool pool,
                                      CUmemLocation *location)
{
    CUmemLocation here = *location;

    return place_in_driver(&here) ? get_access(flags, pool, &here) : CUDA_ERROR_INVALID_DEVICE;
}

void memory_prepare(void)
{
    set_access = driver.cuMemPoolSetAccess;
    get_access = driver.cuMemPoolGetAccess;
    if (set_access)
        driver.cuMemPoolSetAccess = set_access_in_session;
    if (get_access)
        driver.cuMemPoolGetAccess = get_access_in_session;
}

void serve_cuMemPoolCreate(struct serve *serve, const struct args_cuMemPoolCreate *args)
{
    CUmemPoolProps props = args->poolProps;
    CUmemoryPool pool = NULL;

    // Descriptors are the only handles that processes of one box can be given.
    if (props.handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        props.win32SecurityAttributes)
        serve_fail(serve, CUDA_ERROR_NOT_SUPPORTED);
    if (serve_failed(serve) || !translate_location(serve, &props.location))
        return;
    serve_fail(serve, driver.cuMemPoolCreate(&pool, &props));
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_POOL, args->pool, pool, 0);
    if (!serve_failed(serve))
        session.notes[handle_index(args->pool)].pool_device = session_device_of(props.location.id);
}

void serve_cuDeviceGetDefaultMemPool(struct serve *serve,
                                     const struct args_cuDeviceGetDefaultMemPool *args,
                                     CUdevice device)
{
    CUmemoryPool pool = NULL;

    serve_fail(serve, driver.cuDeviceGetDefaultMemPool(&pool, device));
    if (!serve_failed(serve))
        serve_bind(serve, HANDLE_POOL, args->pool_out, pool, 0);
    if (!serve_failed(serve))
        session.notes[handle_index(args->pool_out)].pool_device = session_device_of(device);
}

static CUmemoryPool pool_of(CUresult (*find)(CUmemoryPool *pool, CUdevice device), CUdevice device)
{
    CUmemoryPool pool = NULL;

    return find && find(&pool, device) == CUDA_SUCCESS ? pool : NULL;
}

// The device does not allocate from a destroyed pool. The driver ensures that only when it destroys
// the pool.
static void put_out_of_use(CUmemoryPool pool, CUmemoryPool standard, CUdevice device)
{
    if (pool_of(driver.cuDeviceGetMemPool, device) == pool && driver.cuDeviceSetMemPool)
        driver.cuDeviceSetMemPool(device, standard);
}

void serve_cuMemPoolDestroy(struct serve *serve, const struct args_cuMemPoolDestroy *args,
                            CUmemoryPool pool)
{
    // The handle is one of ours, so its index is one of the notes'.
    CUdevice device = gpus.list[session.notes[handle_index(args->pool)].pool_device].handle;
    CUmemoryPool standard = pool_of(driver.cuDeviceGetDefaultMemPool, device);
    if (standard && standard != pool && pool_end(pool))
        put_out_of_use(pool, standard, device);
    else
        serve_fail(serve, driver.cuMemPoolDestroy(pool));
    if (serve_failed(serve))
        return;
    shared_forget((uintptr_t)pool);
    import_forget((uintptr_t)pool);
    serve_unbind(serve, HANDLE_POOL, args->pool);
}

void serve_cuMemPoolSetAttribute(struct serve *serve, const struct args_cuMemPoolSetAttribute *args,
                                 CUmemoryPool pool)
{
    cuuint64_t value = args->value; // as an int its low half, which comes first

    serve_fail(serve, driver.cuMemPoolSetAttribute(pool, (CUmemPool_attribute)args->attr, &value));
}
