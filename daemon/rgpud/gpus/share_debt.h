// SPDX-License-Identifier: BSD-3-Clause
// Computes the GPU time that a lease has used beyond its share while other leases wanted the GPU.
// The result depends only on the arguments.
#ifndef RGPU_DAEMON_SHARE_DEBT_H
#define RGPU_DAEMON_SHARE_DEBT_H

#include <stdbool.h>
#include <stdint.h>

// Upper limit of a debt. A kernel cannot be stopped, and a kernel of an hour must not block its
// lease for hours.
#define SHARE_DEBT_MAX_US INT64_C(30000000)

struct share_turn {
    int64_t elapsed_us; // time since the last reading
    int64_t used_us;    // GPU time of the lease in it
    unsigned gpus;      // GPUs of the lease
    unsigned percent;   // its share of each GPU
    bool wanted;        // true if other leases wanted the GPUs
};

// Returns the debt after this turn. A lease with a debt is held back in the next turn.
int64_t share_debt(int64_t debt_us, const struct share_turn *turn);

#endif
