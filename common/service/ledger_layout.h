// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of an account (ledger.h). The usage of a line is the supervisor's count plus
// the worker's. The worker's count is negative if it has freed memory that the supervisor counted.
#ifndef RGPU_COMMON_LEDGER_LAYOUT_H
#define RGPU_COMMON_LEDGER_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/service/ledger_limits.h"
#include "common/service/throttle.h"

enum { LEDGER_IMAGES = LEDGER_DEVICES, LEDGER_COUNTS }; // images are counted as one device more

// Each line is written by its worker alone, and `network` by all.
struct ledger_words {
    struct {
        _Atomic uint64_t trying[LEDGER_LINES]; // announced, and not yet taken
        _Atomic uint64_t used[LEDGER_LINES];
    } counts[LEDGER_COUNTS];
    _Atomic uint64_t changes[LEDGER_LINES]; // of `used`, counted before each
    _Alignas(64) struct throttle_counts network;
};

// Written by the supervisor alone.
struct ledger_rules {
    _Atomic uint64_t sessions[LEDGER_LINES]; // 0: free
    _Atomic uint64_t room[LEDGER_COUNTS];
    _Atomic uint64_t trying[LEDGER_COUNTS];
    _Atomic uint64_t charged[LEDGER_COUNTS][LEDGER_LINES];
    struct throttle_rates network;
};

struct ledger {
    struct ledger_words *words;
    struct ledger_rules *rules;
    int fds[LEDGER_FDS];      // of the supervisor; -1: a worker has mapped it
    pthread_mutex_t taking;   // a worker's line announces one thing at a time
    pthread_mutex_t changing; // protects the worker's own words `used` and `changes`
};

#endif
