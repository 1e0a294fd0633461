// SPDX-License-Identifier: BSD-3-Clause
// The memory of each GPU that the session may have, and how much of it is taken: by this process, and by all
// processes of the lease where they share an account.
#include "worker/account/budget.h"

#include <stdatomic.h>

#include "common/ledger.h"
#include "worker/account/pools.h"
#include "worker/asking.h"
#include "worker/gpus.h"
#include "worker/session.h"

void budget_give(int ordinal, uint64_t size)
{
    atomic_fetch_sub(&gpus.list[ordinal].used, size);
    if (session.account)
        ledger_give(session.account, session.account_line, (unsigned)ordinal, size);
}

void budget_inherit(int ordinal, uint64_t size)
{
    atomic_fetch_add(&gpus.list[ordinal].used, size);
}

uint64_t budget_used(int ordinal)
{
    if (session.account && gpus.list[ordinal].budget)
        return ledger_used(session.account, (unsigned)ordinal);
    return atomic_load(&gpus.list[ordinal].used);
}

// What is within the budget and finds no room is asked for, and waited for: other leases give way.
static bool take_within(unsigned place, uint64_t size, uint64_t budget)
{
    while (!ledger_take(session.account, session.account_line, place, size, budget))
        if (!ledger_has_room_set(session.account, place) ||
            !ledger_lacks_room(session.account, place, size, budget) ||
            ask_room(place, size) != CUDA_SUCCESS)
            return false;
    return true;
}

// Where there is no budget the account is for whoever looks at the GPU.
static bool account_take(const struct gpu *device, int ordinal, uint64_t size)
{
    const unsigned place = (unsigned)ordinal;

    if (session.account && device->budget)
        return take_within(place, size, device->budget);
    if (session.account)
        ledger_add(session.account, session.account_line, place, size);
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
    if (!account_take(device, ordinal, size)) {
        atomic_fetch_sub(&device->used, size);
        return false;
    }
    return true;
}

bool budget_find(int device, uint64_t size)
{
    return budget_take(device, size) || (pools_reclaim(device) && budget_take(device, size));
}
