// SPDX-License-Identifier: BSD-3-Clause
#include "common/service/allowance.h"

#include "common/base/clock.h"

void allowance_start(struct allowance *allowance, int64_t burst, int64_t per_second)
{
    *allowance = (struct allowance){burst, per_second, burst, clock_ms()};
}

bool allowance_take(struct allowance *allowance, int64_t amount)
{
    int64_t now = clock_ms();
    int64_t earned = (now - allowance->since_ms) * allowance->per_second / 1000;

    if (earned > 0) {
        allowance->left += earned < allowance->burst ? earned : allowance->burst;
        allowance->since_ms = now;
    }
    if (allowance->left > allowance->burst)
        allowance->left = allowance->burst;
    if (allowance->left < amount)
        return false;
    allowance->left -= amount;
    return true;
}
