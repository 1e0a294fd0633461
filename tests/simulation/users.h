// SPDX-License-Identifier: BSD-3-Clause
// Users, and jobs of a scheduler: each acquires a lease, waits for it, opens sessions with its
// tickets, and gives it back, over a network that loses messages.
#ifndef RGPU_TEST_USERS_H
#define RGPU_TEST_USERS_H

#include "tests/simulation/network.h"

void users_set_up(uint64_t seed, unsigned count);
// No new leases; each user ends what it has.
void users_finish(void);
// Those who still wait give up.
void users_give_up(void);
// Returns how many users have a lease, or with WAITING also those that wait for one.
int users_busy(bool waiting);
void users_heal(void);
// The link of one of the users.
struct link *users_link(uint64_t number);
extern uint64_t users_leases, users_sessions;

#endif
