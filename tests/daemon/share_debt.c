// SPDX-License-Identifier: BSD-3-Clause
// Tests that a lease which exceeds its share of a GPU's time while others want the GPU is throttled
// to its share in the end. Time that no other lease wants is free; no lease saves time or owes it
// for ever.
#include "daemon/rgpud/gpus/share_debt.h"

#include "tests/tap.h"

enum { TURN_US = 2000000 };

// The part of TURNS, in percent, that a lease gets which takes APPETITE percent of each turn in
// which it is not held back.
static int64_t gets(unsigned percent, unsigned gpus, int64_t appetite, int turns)
{
    int64_t debt = 0, used = 0;

    for (int i = 0; i < turns; i++) {
        struct share_turn turn = {TURN_US, debt ? 0 : TURN_US * appetite / 100 * gpus, gpus,
                                  percent, true};
        used += turn.used_us;
        debt = share_debt(debt, &turn);
    }
    return used * 100 / ((int64_t)TURN_US * turns * gpus);
}

int main(void)
{
    struct share_turn turn = {TURN_US, TURN_US, 1, 25, true};

    is_int(gets(25, 1, 50, 1000), 25, "half of each turn is brought down to a share of a quarter");
    is_int(gets(25, 1, 100, 1000), 25, "so is all of it");
    is_int(gets(10, 1, 100, 1000), 10, "whatever the share");
    is_int(gets(50, 4, 100, 1000), 50, "of several GPUs it is one of all of them");
    is_int(gets(50, 1, 40, 1000), 40, "who takes less than his share is never held back");

    int64_t debt = share_debt(0, &turn);
    is_int(debt, TURN_US * 3 / 4, "what is owed is what went beyond the share");
    turn.used_us = 0;
    is_int(share_debt(debt, &turn), TURN_US / 2, "which each turn without work pays off");
    turn.wanted = false;
    is_int(share_debt(debt, &turn), 0, "where nobody else wants the GPU nothing is owed");
    turn.wanted = true;
    is_int(share_debt(0, &turn), 0, "nothing is saved up while nothing is done");
    turn.used_us = 3600 * INT64_C(1000000);
    is_int(share_debt(0, &turn), SHARE_DEBT_MAX_US,
           "an hour in one kernel is not paid back for hours");
    return done();
}
