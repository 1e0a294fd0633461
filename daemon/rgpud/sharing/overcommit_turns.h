// SPDX-License-Identifier: BSD-3-Clause
// Decides which leases have their memory on overcommitted GPUs, and which are suspended for waiting
// ones. Pure function.
//
// A lease is suspended only if a waiting lease fits afterwards. Leases are served in the order in
// which they began to wait, those first whose quantum has not ended, and no lease gets memory that
// one before it waits for. Idle leases are suspended first, then waiting leases that are served
// later, then leases whose quantum has ended; in each group, the one that has been present longest.
// If that is not enough, suspended leases give back what they still have.
#ifndef RGPU_DAEMON_OVERCOMMIT_TURNS_H
#define RGPU_DAEMON_OVERCOMMIT_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TURN_GPUS_MAX = 64 };

enum turn_place { TURN_OUT, TURN_IN, TURN_LEAVING };
enum turn_verdict { TURN_STAYS, TURN_ENTERS, TURN_LEAVES };

struct turn_tenant {
    enum turn_place place;
    bool waits; // waits for memory: to resume, or for a larger quota
    int64_t waits_since_ms;
    bool idle;
    bool fixed;                    // cannot be suspended now
    int64_t here_since_ms;         // begin of its quantum
    uint64_t has[TURN_GPUS_MAX];   // bytes; what a light suspension leaves, if `place` is TURN_OUT
    uint64_t wants[TURN_GPUS_MAX]; // bytes in addition
    enum turn_verdict verdict;     // result; TURN_ENTERS: the lease gets what it wants
};

struct turn_rules {
    size_t gpus;
    uint64_t room[TURN_GPUS_MAX]; // bytes for all leases
    int64_t now_ms, quantum_ms;
};

// Sets the verdict of every tenant in LIST.
void turns_decide(const struct turn_rules *rules, struct turn_tenant *list, size_t count);

#endif
