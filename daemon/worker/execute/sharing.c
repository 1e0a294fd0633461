// SPDX-License-Identifier: BSD-3-Clause
// Memory shared between processes of a lease. The driver's handle goes only to the supervisor; the
// client gets a token, which its program may pass to other processes.
#include <string.h>
#include <unistd.h>

#include "common/base/scope.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/shared.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/execute/box_memory.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"
#include "daemon/worker/suspend/movable_memory.h"
#include "worker_driver.h"
#include "worker_serve.h"

_Static_assert(sizeof(CUipcMemHandle) == CONTROL_EXPORT_HANDLE_BYTES, "what travels is a handle");
_Static_assert(sizeof(CUmemPoolPtrExportData) == CONTROL_EXPORT_HANDLE_BYTES, "and this as well");

static void reply_token(struct serve *serve, const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    if (!serve_failed(serve))
        serve_reply_bytes(serve, token, CONTROL_EXPORT_TOKEN_BYTES);
}

static const uint8_t *token_of(struct serve *serve, const void *behind, uint32_t bytes)
{
    if (bytes == CONTROL_EXPORT_TOKEN_BYTES && serve_bytes(serve, behind, bytes))
        return behind;
    serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

// ---- allocations ----

// The driver's handle of an allocation; of movable memory, a descriptor.
static CUresult describe_allocation(uint64_t start, struct control_export *share, int *fd)
{
    CUipcMemHandle handle;

    if (movable_is(start))
        return movable_export(start, fd);
    CUresult result = driver.cuIpcGetMemHandle(&handle, start);
    if (result == CUDA_SUCCESS)
        memcpy(share->handle, &handle, sizeof(handle));
    return result;
}

static void share_allocation(struct serve *serve, uint64_t start, uint64_t size,
                             uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct control_export share = {.kind = CONTROL_EXPORT_KIND_ALLOCATION,
                                   .device = (uint32_t)allocation_device(start),
                                   .size = size,
                                   .charge = allocation_taken(start)};
    SCOPED_FD int fd = -1;

    serve_fail(serve, describe_allocation(start, &share, &fd));
    if (!serve_failed(serve))
        serve_fail(serve, ask_share(&share, fd, token));
    if (!serve_failed(serve) && !shared_add(start, token))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

void serve_allocation_share(struct serve *serve, const struct args_allocation_share *args)
{
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    uint64_t start = 0, end = 0;
    CUcontext context;

    if (!allocation_is_plain(args->address, &start, &end, &context))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (!shared_find(start, token))
        share_allocation(serve, start, end - start, token);
    reply_token(serve, token);
}

static CUresult open_allocation(struct serve *serve, const struct control_redeemed *redeemed,
                                int fd, CUdeviceptr *address)
{
    CUipcMemHandle handle;

    if (fd >= 0)
        return movable_import(fd, (int)redeemed->device, redeemed->size, green_root(serve->current),
                              address);
    memcpy(&handle, redeemed->handle, sizeof(handle));
    return driver.cuIpcOpenMemHandle_v2(address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static CUresult close_allocation(CUdeviceptr address)
{
    return movable_is(address) ? movable_free(address) : driver.cuIpcCloseMemHandle(address);
}

static void enter_import(struct serve *serve, CUdeviceptr address, const uint8_t *token,
                         const struct control_redeemed *redeemed)
{
    if (!allocation_add(address, redeemed->size, (int)redeemed->device, green_root(serve->current),
                        ALLOCATION_IMPORTED) &&
        import_add(address, redeemed, token))
        return;
    allocation_forget(address);
    close_allocation(address);
    serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

void serve_allocation_redeem(struct serve *serve, const struct args_allocation_redeem *args,
                             struct reply_allocation_redeem *reply)
{
    const uint8_t *token = token_of(serve, args + 1, args->bytes);
    struct control_redeemed redeemed;
    CUdeviceptr address = 0;
    SCOPED_FD int fd = -1;

    if (!token || !serve_require(serve, driver.cuIpcOpenMemHandle_v2))
        return;
    serve_fail(serve, ask_redeem(CONTROL_EXPORT_KIND_ALLOCATION, token, &redeemed, &fd));
    if (serve_failed(serve))
        return;
    serve_fail(serve, open_allocation(serve, &redeemed, fd, &address));
    if (!serve_failed(serve))
        enter_import(serve, address, token, &redeemed);
    if (serve_failed(serve))
        ask_no_more(token, false);
    reply->address = address;
    reply->size = redeemed.size;
}

void serve_allocation_leave(struct serve *serve, const struct args_allocation_leave *args)
{
    if (!allocation_is_imported(args->address)) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    serve_fail(serve, close_allocation(args->address));
    allocation_remove(args->address); // and with it the import
    atomic_fetch_add(&session.memory_epoch, 1);
}

// ---- physical memory ----

void serve_memory_share(struct serve *serve, const struct args_memory_share *args)
{
    struct box_memory *memory = serve_handle(serve, HANDLE_MEMORY, args->memory);
    struct control_export share = {.kind = CONTROL_EXPORT_KIND_MEMORY};
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    SCOPED_FD int fd = -1;

    if (!serve_require(serve, driver.cuMemExportToShareableHandle))
        return;
    if (!shared_find((uintptr_t)memory, token)) {
        share.device = (uint32_t)memory->device;
        share.size = memory->size;
        share.charge = memory->charge;
        serve_fail(serve, driver.cuMemExportToShareableHandle(
                              &fd, memory->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        if (!serve_failed(serve))
            serve_fail(serve, ask_share(&share, fd, token));
        if (!serve_failed(serve) && !shared_add((uintptr_t)memory, token))
            serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    reply_token(serve, token);
}

static int number_in_session(uint32_t device)
{
    for (unsigned i = 0; i < session.device_count; i++)
        if (session.ordinals[i] == (int)device)
            return (int)i;
    return 0; // the supervisor has checked that it is granted
}

static void import_memory(struct serve *serve, uint64_t name, int fd, const uint8_t *token,
                          const struct control_redeemed *redeemed)
{
    CUmemGenericAllocationHandle handle = 0;

    serve_fail(serve,
               driver.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (serve_failed(serve))
        return;
    struct box_memory *memory =
        box_memory_adopt(serve, handle, name, redeemed->size, (int)redeemed->device, 0);
    if (memory && !import_add((uintptr_t)memory, redeemed, token)) {
        box_memory_end(memory);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
}

void serve_memory_redeem(struct serve *serve, const struct args_memory_redeem *args,
                         struct reply_memory_redeem *reply)
{
    const uint8_t *token = token_of(serve, args + 1, args->bytes);
    struct control_redeemed redeemed;
    SCOPED_FD int fd = -1;

    if (!token || !serve_require(serve, driver.cuMemImportFromShareableHandle))
        return;
    serve_fail(serve, ask_redeem(CONTROL_EXPORT_KIND_MEMORY, token, &redeemed, &fd));
    if (serve_failed(serve))
        return;
    import_memory(serve, args->memory, fd, token, &redeemed);
    if (serve_failed(serve))
        ask_no_more(token, false);
    reply->size = redeemed.size;
    reply->device = (uint32_t)number_in_session(redeemed.device);
    reply->granularity = box_memory_granularity((int)redeemed.device);
}

// ---- pools ----

void serve_pool_share(struct serve *serve, const struct args_pool_share *args, CUmemoryPool pool)
{
    struct control_export share = {.kind = CONTROL_EXPORT_KIND_POOL};
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    SCOPED_FD int fd = -1;

    if (!shared_find((uintptr_t)pool, token)) {
        share.device = (uint32_t)session.notes[handle_index(args->pool)].pool_device;
        serve_fail(serve, driver.cuMemPoolExportToShareableHandle(
                              &fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        if (!serve_failed(serve))
            serve_fail(serve, ask_share(&share, fd, token));
        if (!serve_failed(serve) && !shared_add((uintptr_t)pool, token))
            serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    reply_token(serve, token);
}

static void import_pool(struct serve *serve, uint64_t name, int fd, const uint8_t *token,
                        const struct control_redeemed *redeemed)
{
    CUmemoryPool pool = NULL;

    serve_fail(serve,
               driver.cuMemPoolImportFromShareableHandle(
                   &pool, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (serve_failed(serve))
        return;
    serve_bind(serve, HANDLE_POOL, name, pool, 0);
    if (!serve_failed(serve) && !import_add((uintptr_t)pool, redeemed, token)) {
        serve_unbind(serve, HANDLE_POOL, name);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (serve_failed(serve))
        driver.cuMemPoolDestroy(pool);
    else
        session.notes[handle_index(name)].pool_device = (int)redeemed->device;
}

void serve_pool_redeem(struct serve *serve, const struct args_pool_redeem *args,
                       struct reply_pool_redeem *reply)
{
    const uint8_t *token = token_of(serve, args + 1, args->bytes);
    struct control_redeemed redeemed;
    SCOPED_FD int fd = -1;

    if (!token || !serve_require(serve, driver.cuMemPoolImportFromShareableHandle))
        return;
    serve_fail(serve, ask_redeem(CONTROL_EXPORT_KIND_POOL, token, &redeemed, &fd));
    if (serve_failed(serve))
        return;
    import_pool(serve, args->pool, fd, token, &redeemed);
    if (serve_failed(serve))
        ask_no_more(token, false);
    reply->device = (uint32_t)number_in_session(redeemed.device);
}

static void share_pooled(struct serve *serve, CUdeviceptr address, uint64_t size,
                         uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct control_export share = {.kind = CONTROL_EXPORT_KIND_POOLED,
                                   .device = (uint32_t)allocation_device(address),
                                   .size = size,
                                   .charge = size};
    CUmemPoolPtrExportData data;

    memset(&data, 0, sizeof(data));
    serve_fail(serve, driver.cuMemPoolExportPointer(&data, address));
    if (serve_failed(serve))
        return;
    memcpy(share.handle, &data, sizeof(data));
    serve_fail(serve, ask_share(&share, -1, token));
    if (!serve_failed(serve) && !shared_add(address, token))
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
}

void serve_pooled_share(struct serve *serve, const struct args_pooled_share *args)
{
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    uint64_t size = 0;

    if (!allocation_is_pooled(args->address, &size))
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
    else if (!shared_find(args->address, token))
        share_pooled(serve, args->address, size, token);
    reply_token(serve, token);
}

void serve_pooled_redeem(struct serve *serve, const struct args_pooled_redeem *args,
                         struct reply_pooled_redeem *reply, CUmemoryPool pool)
{
    const uint8_t *token = token_of(serve, args + 1, args->bytes);
    struct control_redeemed redeemed;
    CUmemPoolPtrExportData data;
    CUdeviceptr address = 0;
    SCOPED_FD int fd = -1;

    if (!token || !serve_require(serve, driver.cuMemPoolImportPointer))
        return;
    serve_fail(serve, ask_redeem(CONTROL_EXPORT_KIND_POOLED, token, &redeemed, &fd));
    if (serve_failed(serve))
        return;
    memcpy(&data, redeemed.handle, sizeof(data));
    serve_fail(serve, driver.cuMemPoolImportPointer(&address, pool, &data));
    if (!serve_failed(serve) &&
        allocation_is_imported(address)) { // opened before: it is there once
        ask_no_more(token, false);
    } else if (!serve_failed(serve) &&
               (allocation_add(address, redeemed.size, (int)redeemed.device,
                               green_root(serve->current), ALLOCATION_IMPORTED) ||
                !import_add(address, &redeemed, token))) {
        allocation_forget(address);
        driver.cuMemFree_v2(address);
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (serve_failed(serve))
        ask_no_more(token, false);
    reply->address = address;
    reply->size = redeemed.size;
}
