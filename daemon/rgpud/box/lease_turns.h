// SPDX-License-Identifier: BSD-3-Clause
// Order of waiting clients: a lease with many recent sessions comes after other leases.
#ifndef RGPU_DAEMON_LEASE_TURNS_H
#define RGPU_DAEMON_LEASE_TURNS_H

#include <stddef.h>
#include <stdint.h>

enum { LEASE_TURNS_KEPT = 64 };

// Leases of the last sessions, as hashes. Leases with equal hashes share their turns.
struct lease_turns {
    uint64_t leases[LEASE_TURNS_KEPT]; // ring buffer; 0: unused
    unsigned next;
};

// Notes that a session of LEASE has begun. Clients without a ticket count as one lease.
void lease_turns_note(struct lease_turns *turns, const char *lease);
// Returns how many of the last LEASE_TURNS_KEPT sessions were of LEASE.
unsigned lease_turns_count(const struct lease_turns *turns, const char *lease);

#endif
