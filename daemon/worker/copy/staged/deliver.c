// SPDX-License-Identifier: BSD-3-Clause
// Before the client learns that work of the GPU is done it has what that work made: printed text,
// data on their way to it, flags. And what pools gave back counts no more.
#include "daemon/worker/copy/staged/deliver.h"

#include <stdatomic.h>

#include "daemon/worker/account/budget.h"
#include "daemon/worker/copy/one_sided/one_sided.h"
#include "daemon/worker/copy/parts/print.h"
#include "daemon/worker/copy/staged/pull.h"
#include "daemon/worker/copy/staged/small_pull.h"
#include "daemon/worker/core/session.h"

void deliver_all(void)
{
    if (atomic_load_explicit(&session.prints, memory_order_relaxed))
        print_deliver();
    pull_deliver();
    small_pull_deliver(); // behind what they came behind
    one_sided_deliver();
    budget_settle();
}
