// SPDX-License-Identifier: BSD-3-Clause
// The budget of each GPU, and the memory used: by this process, and by all processes of the lease
// if they share an account.
#include "daemon/worker/account/budget.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/assert.h"
#include "common/service/ledger.h"
#include "common/base/scope.h"
#include "daemon/worker/account/allocation.h"
#include "daemon/worker/account/graph_charge.h"
#include "daemon/worker/account/passage.h"
#include "daemon/worker/account/pools.h"
#include "daemon/worker/core/asking.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

// A thread that counts holds it for reading: the account of a GPU is under the supervisor's number
// for the GPU, which changes when the session is moved.
static pthread_rwlock_t numbers = PTHREAD_RWLOCK_INITIALIZER;

static void account_give(int ordinal, uint64_t size)
{
    pthread_rwlock_rdlock(&numbers);
    ledger_give(session.account, session.account_line, gpus.list[ordinal].number, size);
    pthread_rwlock_unlock(&numbers);
}

void budget_give(int ordinal, uint64_t size)
{
    uint64_t before = atomic_fetch_sub(&gpus.list[ordinal].used, size);

    RGPU_ASSERT(before >= size);
    if (session.account)
        account_give(ordinal, size);
}

// All are taken off before any is counted anew, since GPUs may change places.
void budget_moved(const uint32_t *to, unsigned count)
{
    uint64_t held[GPUS_MAX] = {0};

    pthread_rwlock_wrlock(&numbers);
    for (unsigned i = 0; i < count && session.account; i++) {
        unsigned before = gpus.list[session.ordinals[i]].number;
        held[i] = ledger_line_used(session.account, session.account_line, before);
        ledger_give(session.account, session.account_line, before, held[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        gpus.list[session.ordinals[i]].number = to[i];
        if (session.account)
            ledger_add(session.account, session.account_line, to[i], held[i]);
    }
    pthread_rwlock_unlock(&numbers);
}

void budget_inherit(int ordinal, uint64_t size)
{
    atomic_fetch_add(&gpus.list[ordinal].used, size);
}

bool budget_takes_turns(int ordinal)
{
    return session.account && ledger_has_quota(session.account, gpus.list[ordinal].number);
}

uint64_t budget_used(int ordinal)
{
    if (session.account && gpus.list[ordinal].budget)
        return ledger_used(session.account, gpus.list[ordinal].number);
    return atomic_load(&gpus.list[ordinal].used);
}

static bool take_once(const struct gpu *device, uint64_t size)
{
    pthread_rwlock_rdlock(&numbers);
    bool taken =
        ledger_take(session.account, session.account_line, device->number, size, device->budget);
    pthread_rwlock_unlock(&numbers);
    return taken;
}

// Requests room on the GPU for memory within the budget, and waits for it: other leases give way.
static bool take_within(const struct gpu *device, uint64_t size)
{
    while (!take_once(device, size))
        if (!ledger_has_quota(session.account, device->number) ||
            !ledger_lacks_quota(session.account, device->number, size, device->budget) ||
            ask_quota(device->number, size) != CUDA_SUCCESS)
            return false;
    return true;
}

static void account_hold(const struct gpu *device, uint64_t size)
{
    pthread_rwlock_rdlock(&numbers);
    ledger_add(session.account, session.account_line, device->number, size);
    pthread_rwlock_unlock(&numbers);
}

// Without a budget the account serves only queries of the GPU.
static bool account_take(const struct gpu *device, uint64_t size)
{
    if (!session.account)
        return true;
    if (device->budget)
        return take_within(device, size);
    account_hold(device, size);
    return true;
}

bool budget_take(int ordinal, uint64_t size)
{
    struct gpu *device = &gpus.list[ordinal];
    uint64_t used = atomic_load(&device->used);

    do {
        if (used + size < used || (device->budget && used + size > device->budget))
            return false;
    } while (!atomic_compare_exchange_weak(&device->used, &used, used + size));
    if (!account_take(device, size)) {
        atomic_fetch_sub(&device->used, size);
        return false;
    }
    return true;
}

void budget_hold(int ordinal, uint64_t size)
{
    atomic_fetch_add(&gpus.list[ordinal].used, size);
    if (session.account)
        account_hold(&gpus.list[ordinal], size);
}

static bool settle_passed(void)
{
    if (!allocations_pass())
        return false;
    passages_query();
    return allocations_settle();
}

void budget_settle(void)
{
    pools_settle();
    settle_passed();
}

bool budget_is_settled(void)
{
    return !pools_have_slack() && !allocations_pass();
}

bool budget_find_beside_graphs(int device, uint64_t size)
{
    return budget_take(device, size) || (settle_passed() && budget_take(device, size)) ||
           (pools_reclaim(device) && budget_take(device, size));
}

bool budget_find(int device, uint64_t size)
{
    return budget_find_beside_graphs(device, size) ||
           (graph_charge_reclaim(device) && budget_take(device, size));
}
