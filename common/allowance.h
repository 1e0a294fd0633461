// SPDX-License-Identifier: BSD-3-Clause
// How much of something may come: a burst at once, and after that so much in a second. For one thread.
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
// Whether AMOUNT more may come now; if so it is taken off.
bool allowance_take(struct allowance *allowance, int64_t amount);

#endif
