// SPDX-License-Identifier: BSD-3-Clause
// Decides which leases have their memory on overcommitted GPUs and which leave for waiting ones.
// The decision depends only on the arguments.
//
// A lease leaves only if a waiting lease fits afterwards. Leases are served in the order in which
// they began to wait, and no lease takes memory that an earlier one waits for. Idle leases leave
// first, then leases that wait and come after the served one, then those whose quantum has ended.
// Within a group, the lease that has been present longest leaves first.
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
    bool waits; // for memory: to come in, or for more than it has
    int64_t waits_since_ms;
    bool idle;
    bool fixed;                    // cannot leave now
    int64_t here_since_ms;         // start of its quantum
    uint64_t has[TURN_GPUS_MAX];   // bytes, while it is in or leaving
    uint64_t wants[TURN_GPUS_MAX]; // additional bytes
    enum turn_verdict verdict;     // the decision; a lease that enters gets what it wants
};

struct turn_rules {
    size_t gpus;
    uint64_t room[TURN_GPUS_MAX]; // bytes for all leases together
    int64_t now_ms, quantum_ms;
};

// Sets the verdict of every tenant in LIST.
void turns_decide(const struct turn_rules *rules, struct turn_tenant *list, size_t count);

#endif
