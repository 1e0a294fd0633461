// SPDX-License-Identifier: BSD-3-Clause
// The start of a worker takes about a second. Without turns, a lease that keeps starting processes
// would delay all other leases.
#include "daemon/rgpud/box/lease_turns.h"

#include <string.h>

#include "common/base/hash.h"

// Hashes the name; never returns 0.
static uint64_t lease_turns_hash(const char *lease)
{
    uint64_t value = hash_bytes(HASH_START, lease, strlen(lease));

    return value ? value : 1;
}

void lease_turns_note(struct lease_turns *turns, const char *lease)
{
    turns->leases[turns->next++ % LEASE_TURNS_KEPT] = lease_turns_hash(lease);
}

unsigned lease_turns_count(const struct lease_turns *turns, const char *lease)
{
    uint64_t wanted = lease_turns_hash(lease);
    unsigned count = 0;

    for (unsigned i = 0; i < LEASE_TURNS_KEPT; i++)
        count += turns->leases[i] == wanted;
    return count;
}
