// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/gpus/share_debt.h"

int64_t share_debt(int64_t debt_us, const struct share_turn *turn)
{
    int64_t share_us = turn->elapsed_us * (int64_t)turn->gpus * turn->percent / 100;
    int64_t now_us = debt_us + turn->used_us - share_us;

    // Time that no other lease wants is free, and unused time is not saved up.
    if (!turn->wanted || now_us < 0)
        return 0;
    return now_us < SHARE_DEBT_MAX_US ? now_us : SHARE_DEBT_MAX_US;
}
