// SPDX-License-Identifier: BSD-3-Clause
// A session that has been moved counts, and is bounded, under the number of the GPU that it is on
// now.
#include "common/service/ledger.h"
#include "tests/tap.h"
#include "daemon/worker/account/budget.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

enum { MIB = 1024 * 1024, SESSION = 7 };

int main(void)
{
    const uint32_t to[] = {3};
    struct ledger *ledger;

    is_int(ledger_create(&ledger), 0, "an account is made");
    is_int(ledger_map(ledger_descriptors(ledger), &session.account), 0, "and mapped");
    is_int(ledger_open_line(ledger, SESSION), 0, "it has a line for the session");
    session.account_line = ledger_find_line(session.account, SESSION);
    session.device_count = 1;
    gpus.count = 1;
    gpus.list[0] = (struct gpu){.present = true, .budget = 64 * MIB};

    ok(budget_take(0, 8 * MIB), "memory is taken");
    ok(!budget_takes_turns(0), "where leases do not take turns");
    budget_moved(to, 1);
    is_int((int64_t)ledger_used(session.account, 0), 0, "the GPU that was left has none of it");
    is_int((int64_t)ledger_used(session.account, 3), 8 * MIB, "the other one has it");
    ledger_set_quota(ledger, 0, 64 * MIB);
    ok(!budget_takes_turns(0), "that leases take turns on the GPU that was left is nothing to it");
    ledger_set_quota(ledger, 3, 64 * MIB);
    ok(budget_takes_turns(0), "that they do on the other one is");
    is_int((int64_t)budget_used(0), 8 * MIB, "what is used is what is used there");
    return done();
}
