// SPDX-License-Identifier: BSD-3-Clause
// Debt of a lease: GPU time beyond its share while other leases wanted the GPU. Pure function.
#ifndef RGPU_DAEMON_SHARE_DEBT_H
#define RGPU_DAEMON_SHARE_DEBT_H

#include <stdbool.h>
#include <stdint.h>

// Maximum debt. A running kernel cannot be stopped, but a kernel of an hour must not block its
// lease for hours.
#define SHARE_DEBT_MAX_US INT64_C(30000000)

struct share_turn {
    int64_t elapsed_us; // time since the last reading
    int64_t used_us;    // GPU time of the lease during elapsed_us
    unsigned gpus;      // number of GPUs of the lease
    unsigned percent;   // its share of each GPU
    bool wanted;        // other leases wanted the GPUs
};

// Returns the new debt. A lease with a debt is held back until the next turn.
int64_t share_debt(int64_t debt_us, const struct share_turn *turn);

#endif
