// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/spread.h"

#include <sys/random.h>

uint64_t spread_pause(uint64_t pause, unsigned percent)
{
    uint64_t most = pause / 100 * percent + pause % 100 * percent / 100, drawn;

    // Early after boot there are no random numbers yet; the pause is not changed then.
    if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != (long)sizeof(drawn))
        return pause;
    return pause - drawn % (most + 1);
}
