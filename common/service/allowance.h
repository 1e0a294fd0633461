// SPDX-License-Identifier: BSD-3-Clause
// A token bucket: allows a burst at once, and then a fixed amount per second. For one thread.
#ifndef RGPU_COMMON_ALLOWANCE_H
#define RGPU_COMMON_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct allowance {
    int64_t burst, per_second;
    int64_t left, since_ms; // may come now, and when that was counted
};

// All of the burst is there.
void allowance_start(struct allowance *allowance, int64_t burst, int64_t per_second);
// Returns true if AMOUNT more may come now, and takes it off.
bool allowance_take(struct allowance *allowance, int64_t amount);

#endif
