// SPDX-License-Identifier: BSD-3-Clause
// Users, and jobs of a scheduler: each acquires a lease, waits for it, opens sessions with its
// tickets, and gives it back, over a network that loses messages.
#ifndef RGPU_TEST_USERS_H
#define RGPU_TEST_USERS_H

#include "tests/simulation/network.h"

void users_set_up(uint64_t seed, unsigned count);
// No new leases; each user ends what it has.
void users_finish(void);
// Returns true if no user has or wants a lease.
int users_busy(void);
void users_heal(void);
// The link of one of the users.
struct link *users_link(uint64_t number);
extern uint64_t users_leases, users_sessions;

#endif
