// SPDX-License-Identifier: BSD-3-Clause
// These are: printed text, data of pulls, and flags. Also updates the budget by what pools have
// released.
#include "daemon/worker/copy/staged/deliver.h"

#include <stdatomic.h>

#include "daemon/worker/account/budget.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "daemon/worker/copy/parts/print.h"
#include "daemon/worker/copy/staged/pull.h"
#include "daemon/worker/copy/staged/small_pull.h"
#include "daemon/worker/core/context_watchers.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"

void deliver_all(void)
{
    if (atomic_load_explicit(&session.prints, memory_order_relaxed))
        print_deliver();
    pull_deliver();
    small_pull_deliver(); // behind what they came behind
    one_sided_deliver();
    budget_settle();
}

// Completes the copies to the client, which may read their data once the context has ended.
static void deliver_before_end(CUcontext context)
{
    if (!pull_any_in(context) && !small_pull_any_in(context) && !one_sided_any_in(context))
        return;
    driver.cuCtxSynchronize();
    deliver_all();
}

void deliver_prepare(void)
{
    context_watch(deliver_before_end);
}
