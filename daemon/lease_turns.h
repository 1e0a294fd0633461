// SPDX-License-Identifier: BSD-3-Clause
// The order in which clients that wait are served: a lease that has begun many sessions of late comes after others (lease_turns.c).
#ifndef RGPU_DAEMON_LEASE_TURNS_H
#define RGPU_DAEMON_LEASE_TURNS_H

#include <stddef.h>
#include <stdint.h>

enum { LEASE_TURNS_KEPT = 64 };

// The leases of the last sessions, by a hash: if two are taken for one, they share their turns.
struct lease_turns {
    uint64_t leases[LEASE_TURNS_KEPT]; // a ring; 0: none yet
    unsigned next;
};

// A session of LEASE has begun; clients without a ticket are one lease.
void lease_turns_note(struct lease_turns *turns, const char *lease);
// The number of these sessions that were of LEASE.
unsigned lease_turns_count(const struct lease_turns *turns, const char *lease);

#endif
