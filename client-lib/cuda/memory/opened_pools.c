// SPDX-License-Identifier: BSD-3-Clause
// See opened_pools.h.
#include "client-lib/cuda/memory/opened_pools.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/cuda/objects/addresses.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/memory/tokens.h"
#include "client_calls.h"
#include "common/base/log.h"
#include "common/base/scope.h"

_Static_assert(sizeof(CUmemPoolPtrExportData) == CONTROL_EXPORT_TOKEN_BYTES,
               "a token is what stands for an allocation");

// A pool is the same object however often it is opened.
struct opened_pool {
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    CUmemoryPool pool;
    struct opened_pool *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened_pool *all;

CUresult pool_export(CUmemoryPool pool, int *fd)
{
    uint8_t token[CONTROL_EXPORT_TOKEN_BYTES];
    size_t used = 0;
    CUresult result = remote_pool_share(pool, token, sizeof(token), &used);
    if (result == CUDA_ERROR_INVALID_HANDLE) // the driver's error for pools
        result = CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? token_give_file(token, used, fd) : result;
}

// Finds a pool, and forgets destroyed ones on the way. The caller holds the lock.
static struct opened_pool *opened_pools_find(const uint8_t token[CONTROL_EXPORT_TOKEN_BYTES])
{
    struct opened_pool **at = &all;
    while (*at) {
        struct opened_pool *opened = *at;
        if (!object_find(HANDLE_POOL, opened->pool)) {
            *at = opened->next;
            free(opened);
            continue;
        }
        if (!memcmp(opened->token, token, sizeof(opened->token)))
            return opened;
        at = &opened->next;
    }
    return NULL;
}

static CUresult redeem_pool(struct opened_pool *opened)
{
    struct object *context;
    uint32_t device = 0;
    struct box_session *session = thread_context_object(&context) == CUDA_SUCCESS ? context->session
                                                                                  : sessions[0];
    CUresult result = remote_pool_redeem(&opened->pool, session->first_device, &device,
                                         opened->token, sizeof(opened->token));
    return result == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_UNKNOWN : result;
}

CUresult pool_import(int fd, CUmemoryPool *pool)
{
    SCOPED_FREE struct opened_pool *made = calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = token_read_file(fd, made->token);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    struct opened_pool *opened = opened_pools_find(made->token);
    if (!opened) {
        result = redeem_pool(made);
        if (result != CUDA_SUCCESS)
            return result;
        opened = made;
        opened->next = all;
        all = opened;
        made = NULL;
    }
    *pool = opened->pool;
    return CUDA_SUCCESS;
}

CUresult pooled_share(CUdeviceptr address, CUmemPoolPtrExportData *token)
{
    struct allocation found;
    CUmemPoolPtrExportData got;
    size_t used = 0;
    bool entered;
    if (!memory_find(address, &found) || found.base != address || !found.pool || found.imported)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = memory_enter(&found, &entered);
    if (result == CUDA_SUCCESS)
        result = remote_pooled_share(address, &got, sizeof(got), &used);
    memory_leave(entered);
    if (result == CUDA_SUCCESS && used != sizeof(got))
        result = CUDA_ERROR_UNKNOWN;
    if (result == CUDA_SUCCESS)
        *token = got;
    return result;
}

// If it is opened again, it keeps its address, and is freed once.
static CUresult opened_pools_enter(const struct object *context, CUdeviceptr address, uint64_t size,
                                   CUmemoryPool pool)
{
    struct allocation there;
    struct allocation row = {.base = address,
                             .size = size,
                             .session = context->session,
                             .context = context->ctx.root,
                             .device = context->ctx.device,
                             .pool = pool,
                             .imported = true};
    if (memory_find(address, &there) && there.imported && there.pool == pool &&
        there.base == address)
        return CUDA_SUCCESS;
    int err = memory_add(&row);
    if (!err)
        return CUDA_SUCCESS;
    log_error("memory of another process's pool is at an address that is taken here "
              "address=0x%llx size=%llu error=\"%s\"",
              (unsigned long long)address, (unsigned long long)size, strerror(-err));
    remote_cuMemFree_v2(address);
    return CUDA_ERROR_MAP_FAILED;
}

CUresult pooled_open(CUmemoryPool pool, const CUmemPoolPtrExportData *token, CUdeviceptr *address)
{
    struct object *context;
    CUdeviceptr got = 0;
    uint64_t size = 0;
    if (!token_is_one(token) || !object_find(HANDLE_POOL, pool))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = thread_context_object(&context);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    result = remote_pooled_redeem(pool, &got, &size, token, sizeof(*token));
    if (result == CUDA_ERROR_INVALID_HANDLE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = opened_pools_enter(context, got, size, pool);
    if (result == CUDA_SUCCESS)
        *address = got;
    return result;
}
