// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is on GPUs of which more is promised than there is: which leases have their memory there, and which
// leave for those that wait. A decision only, of nothing but its arguments.
//
// Nobody leaves but for somebody who waits and then fits. Who waits is served in the order in which they came, and
// nobody takes what somebody before him waits for. Idle leases give way first, then those that wait behind the one that
// is served, then those whose quantum is over, the one that has been there longest before the others.
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
    bool waits; // for room: to come in, or for more than it has
    int64_t waits_since_ms;
    bool idle;
    bool fixed;                    // cannot leave at the moment
    int64_t here_since_ms;         // its quantum began
    uint64_t has[TURN_GPUS_MAX];   // bytes, while it is in or leaving
    uint64_t wants[TURN_GPUS_MAX]; // more than these
    enum turn_verdict verdict;     // the answer; who enters has what it wants
};

struct turn_rules {
    size_t gpus;
    uint64_t room[TURN_GPUS_MAX]; // bytes that all together may have
    int64_t now_ms, quantum_ms;
};

void turns_decide(const struct turn_rules *rules, struct turn_tenant *list, size_t count);

#endif
