// SPDX-License-Identifier: BSD-3-Clause
// What a lease owes the others of its GPUs where these take turns: the GPU time that it has had beyond its share while
// others wanted it. A decision only, of nothing but its arguments.
#ifndef RGPU_DAEMON_SHARE_DEBT_H
#define RGPU_DAEMON_SHARE_DEBT_H

#include <stdbool.h>
#include <stdint.h>

// More is forgiven: a kernel cannot be stopped, so that one which ran for an hour would keep its lease out for hours.
#define SHARE_DEBT_MAX_US INT64_C(30000000)

struct share_turn {
    int64_t elapsed_us; // since the reading before
    int64_t used_us;    // GPU time of the lease in that
    unsigned gpus;      // that it has
    unsigned percent;   // of each that is its share
    bool wanted;        // by others
};

// What is owed after this turn. Who owes anything is held back in the next one.
int64_t share_debt(int64_t owed_us, const struct share_turn *turn);

#endif
