// SPDX-License-Identifier: BSD-3-Clause
// See lease_turns.h. The start of a worker takes a second, so a lease whose processes come and go without end would let
// others wait for all of them.
#include "daemon/lease_turns.h"

#include <string.h>

#include "common/hash.h"

// Never 0.
static uint64_t hash(const char *lease)
{
    uint64_t value = hash_bytes(HASH_START, lease, strlen(lease));

    return value ? value : 1;
}

void lease_turns_note(struct lease_turns *turns, const char *lease)
{
    turns->leases[turns->next++ % LEASE_TURNS_KEPT] = hash(lease);
}

unsigned lease_turns_count(const struct lease_turns *turns, const char *lease)
{
    uint64_t wanted = hash(lease);
    unsigned count = 0;

    for (unsigned i = 0; i < LEASE_TURNS_KEPT; i++)
        count += turns->leases[i] == wanted;
    return count;
}
