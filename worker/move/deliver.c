// SPDX-License-Identifier: BSD-3-Clause
// Before the client learns that work of the GPU is done it has what that work made: printed text, data on
// their way to it, flags. And what pools gave back counts no more.
#include "worker/move/deliver.h"

#include <stdatomic.h>

#include "worker/account/budget.h"
#include "worker/move/one_sided/reach.h"
#include "worker/move/print.h"
#include "worker/move/staged/pull.h"
#include "worker/move/staged/small_pull.h"
#include "worker/session.h"

void deliver_all(void)
{
    if (atomic_load_explicit(&session.prints, memory_order_relaxed))
        print_deliver();
    pull_deliver();
    small_pull_deliver(); // behind what they came behind
    reach_deliver();
    budget_settle();
}
