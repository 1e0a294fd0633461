// SPDX-License-Identifier: BSD-3-Clause
// The wish of a lease is unknown while the card is full. So each may grow by half in a turn, and a
// lease that was kept small by others has its part after a few turns.
#include "daemon/rgpud/gpus/network_share.h"

enum {
    USED_PERCENT = 92, // of the card, by payloads; so short queues, which delay small messages
    GROWTH_PERCENT = 150,
    START_PERCENT = 2, // of the card, added to what each lease wants
};

void network_share_count(struct network_use *use, uint64_t bytes, uint64_t elapsed_ns,
                         uint64_t capacity)
{
    double moved = bytes > use->counted ? (double)(bytes - use->counted) : 0;
    double now = moved * 1e9 / (double)(elapsed_ns ? elapsed_ns : 1);

    // A lease that computes between two copies keeps its part for about a tenth of a second.
    use->recent = use->recent * 7 / 8;
    if (now > (double)use->recent)
        use->recent = now < (double)capacity ? (uint64_t)now : capacity;
    use->counted = bytes;
}

static uint64_t wanted_by(const struct network_use *use, uint64_t capacity)
{
    return use->recent ? use->recent * GROWTH_PERCENT / 100 + capacity * START_PERCENT / 100 : 0;
}

// Returns the rate at which all leases together use CAPACITY if each moves what it wants, but no
// more than this rate.
static uint64_t equal_part(struct network_use *const *uses, size_t count, size_t sharing,
                           uint64_t capacity)
{
    const uint64_t whole = capacity / 100 * USED_PERCENT;
    uint64_t part = whole / sharing, before;

    do {
        uint64_t rest = whole;
        before = part;
        sharing = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t wanted = wanted_by(uses[i], capacity);
            sharing += wanted > part;
            rest -= wanted > part ? 0 : wanted;
        }
        part = sharing ? rest / sharing : part;
    } while (part > before);
    return part;
}

void network_share(struct network_use *const *uses, size_t count, uint64_t capacity)
{
    size_t sharing = 0;

    for (size_t i = 0; i < count; i++)
        sharing += uses[i]->recent > 0;
    uint64_t part = sharing > 1 ? equal_part(uses, count, sharing, capacity) : 0;
    for (size_t i = 0; i < count; i++)
        uses[i]->rate = part;
}
