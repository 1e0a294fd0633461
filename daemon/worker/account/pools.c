// SPDX-License-Identifier: BSD-3-Clause
// A pool counts with all memory that it has taken from the device, not with its allocations: it
// keeps freed memory until the stream has reached the free, and up to its release threshold longer.
#include "daemon/worker/account/pools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/log.h"
#include "common/base/scope.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/core/gpus.h"
#include "worker_driver.h"

struct pool_account {
    CUmemoryPool pool; // NULL: gone with its device's context, and not to be queried any more
    int device;
    bool ended;       // the program has destroyed it, and the driver does once its memory is free
    uint64_t charged; // bytes of the budget
    uint64_t live;    // bytes of allocations that have not been freed
    struct pool_account *next;
};

static struct pool_account *accounts;
static _Atomic bool slack; // some pool may give something back
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t pools_ask(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = 0;

    return driver.cuMemPoolGetAttribute &&
                   driver.cuMemPoolGetAttribute(pool, attribute, &value) == CUDA_SUCCESS
               ? value
               : 0;
}

static uint64_t pools_reserved(const struct pool_account *account)
{
    return pools_ask(account->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

// Gives back what the pool has given back. Under lock, as all that follows.
static bool settle(struct pool_account *account)
{
    uint64_t now = account->pool ? pools_reserved(account) : account->live ? account->charged : 0;

    if (now >= account->charged)
        return false;
    budget_give(account->device, account->charged - now);
    account->charged = now;
    return true;
}

static bool has_slack(const struct pool_account *account)
{
    return account->pool && account->charged > account->live;
}

// Destroys pools that the program has destroyed, where nothing is left of their memory, and drops
// their accounts.
static void drop_ended(void)
{
    for (struct pool_account **at = &accounts; *at;) {
        struct pool_account *account = *at;
        if (account->live || (account->pool && (!account->ended || account->charged))) {
            at = &account->next;
            continue;
        }
        if (account->pool)
            driver.cuMemPoolDestroy(account->pool);
        *at = account->next;
        budget_give(account->device, account->charged);
        free(account);
    }
}

// From now on the driver keeps nothing for later allocations.
static void pools_keep_nothing(const struct pool_account *account)
{
    cuuint64_t nothing = 0;

    if (driver.cuMemPoolSetAttribute)
        driver.cuMemPoolSetAttribute(account->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &nothing);
    if (driver.cuMemPoolTrimTo)
        driver.cuMemPoolTrimTo(account->pool, 0);
}

static bool reclaim(int device)
{
    bool any = false;

    for (struct pool_account *account = accounts; account; account = account->next) {
        if (account->device != device || !account->pool || !driver.cuMemPoolTrimTo)
            continue;
        driver.cuMemPoolTrimTo(account->pool, 0);
        any |= settle(account);
    }
    drop_ended();
    return any;
}

static struct pool_account *pools_find(CUmemoryPool pool)
{
    struct pool_account *account = accounts;

    while (account && account->pool != pool)
        account = account->next;
    return account;
}

struct pool_account *pool_account(CUmemoryPool pool, int device)
{
    if (!charges_apply(device))
        return NULL;
    SCOPED_LOCK(&lock);
    struct pool_account *account = pools_find(pool);
    if (!account && (account = calloc(1, sizeof(*account)))) {
        *account = (struct pool_account){.pool = pool, .device = device, .next = accounts};
        accounts = account;
    }
    return account;
}

// Counts the most that the pool can take from the GPU for SIZE. Free memory in the pool does not
// reduce this: the driver reuses it at once only in the stream that freed it, and in other streams
// only after the GPU has passed the free. Otherwise the driver takes more memory.
static bool pools_take(struct pool_account *account, uint64_t size)
{
    return budget_take(account->device, size) ||
           (reclaim(account->device) && budget_take(account->device, size));
}

bool pool_may_find(const struct pool_account *account, uint64_t size)
{
    uint64_t budget = gpus.list[account->device].budget, used = budget_used(account->device);

    SCOPED_LOCK(&lock);
    return has_slack(account) &&
           size <= account->charged - account->live + (used < budget ? budget - used : 0);
}

// The pool may have taken more than was reckoned with. False: the budget does not allow that, and
// it counts all the same until the pool has given it back.
static bool adjust(struct pool_account *account, uint64_t taken)
{
    uint64_t now = pools_reserved(account), counted = account->charged + taken;
    bool fits = now <= counted || budget_take(account->device, now - counted);

    if (!fits)
        budget_hold(account->device, now - counted);
    if (now < counted)
        budget_give(account->device, counted - now);
    account->charged = now;
    return fits;
}

CUresult pool_allocate(struct pool_account *account, uint64_t size, CUstream stream,
                       CUdeviceptr *address)
{
    if (!driver.cuMemAllocFromPoolAsync)
        return CUDA_ERROR_NOT_SUPPORTED;
    SCOPED_LOCK(&lock);
    settle(account);
    CUresult result = pools_take(account, size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        result = driver.cuMemAllocFromPoolAsync(address, size, account->pool, stream);
        if (!adjust(account, size) && result == CUDA_SUCCESS) {
            driver.cuMemFreeAsync(*address, stream); // of which the next settling finds out
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    account->live += result == CUDA_SUCCESS ? size : 0;
    atomic_store(&slack, true);
    return result;
}

void pool_note_free(struct pool_account *account, uint64_t size)
{
    SCOPED_LOCK(&lock);
    RGPU_ASSERT(account->live >= size);
    account->live -= size;
    atomic_store(&slack, true);
    drop_ended();
}

bool pool_end(CUmemoryPool pool)
{
    SCOPED_LOCK(&lock);
    struct pool_account *account = pools_find(pool);
    if (!account)
        return false;
    account->ended = true;
    pools_keep_nothing(account);
    settle(account);
    atomic_store(&slack, true);
    drop_ended();
    return true;
}

void pools_forget_device(int device)
{
    SCOPED_LOCK(&lock);
    for (struct pool_account *account = accounts; account; account = account->next) {
        if (account->device != device)
            continue;
        budget_give(device, account->charged);
        account->charged = 0;
        account->pool = NULL;
    }
    drop_ended();
}

void pools_settle(void)
{
    if (!atomic_exchange(&slack, false))
        return;
    SCOPED_LOCK(&lock);
    for (struct pool_account *account = accounts; account; account = account->next) {
        settle(account);
        if (has_slack(account))
            atomic_store(&slack, true);
    }
    drop_ended();
}

bool pools_have_slack(void)
{
    return atomic_load_explicit(&slack, memory_order_relaxed);
}

bool pools_reclaim(int device)
{
    SCOPED_LOCK(&lock);
    bool any = reclaim(device);
    return any;
}
