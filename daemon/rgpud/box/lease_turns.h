// SPDX-License-Identifier: BSD-3-Clause
// Orders waiting clients: a lease with many recent sessions comes after the others (lease_turns.c).
#ifndef RGPU_DAEMON_LEASE_TURNS_H
#define RGPU_DAEMON_LEASE_TURNS_H

#include <stddef.h>
#include <stdint.h>

enum { LEASE_TURNS_KEPT = 64 };

// Hashes of the leases of the last sessions. Two leases with the same hash share their turns.
struct lease_turns {
    uint64_t leases[LEASE_TURNS_KEPT]; // a ring; 0: unused
    unsigned next;
};

// Notes that a session of LEASE has begun. Clients without a ticket count as one lease.
void lease_turns_note(struct lease_turns *turns, const char *lease);
// Returns the number of these sessions that belong to LEASE.
unsigned lease_turns_count(const struct lease_turns *turns, const char *lease);

#endif
