// SPDX-License-Identifier: BSD-3-Clause
// A token bucket: allows a burst, and then a fixed amount per second. For one thread only.
#ifndef RGPU_COMMON_ALLOWANCE_H
#define RGPU_COMMON_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct allowance {
    int64_t burst, per_second;
    int64_t left, since_ms; // tokens left at time since_ms
};

// Initializes a full bucket.
void allowance_start(struct allowance *allowance, int64_t burst, int64_t per_second);
// Takes AMOUNT tokens. Returns false if there are fewer.
bool allowance_take(struct allowance *allowance, int64_t amount);

#endif
