// SPDX-License-Identifier: BSD-3-Clause
// Leases that move bytes over one network card get fair shares of it.
#include "daemon/rgpud/gpus/network_share.h"

#include <string.h>

#include "tests/tap.h"

enum { TURN_NS = 20000000, TURNS_PER_SECOND = 50, CARD = 1000000000, SPARE = 920000000, MOST = 8 };

static struct network_use uses[MOST];
static struct network_use *list[MOST];
static size_t count;
static uint64_t moved[MOST];

static void begin(size_t leases)
{
    memset(uses, 0, sizeof(uses));
    memset(moved, 0, sizeof(moved));
    count = leases;
    for (size_t i = 0; i < MOST; i++)
        list[i] = &uses[i];
}

// A turn in which lease I moved RATES[I] bytes per second, or its limit if that is lower.
static void turn(const uint64_t *rates)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t rate = uses[i].rate && uses[i].rate < rates[i] ? uses[i].rate : rates[i];
        moved[i] += rate / TURNS_PER_SECOND;
        network_share_count(&uses[i], moved[i], TURN_NS, CARD);
    }
    network_share(list, count, CARD);
}

// Turns in which lease 0 has the whole card, but for what is left to lease 1.
static unsigned turns_until_equal(void)
{
    for (unsigned turns = 1; turns < 100; turns++) {
        uint64_t left = uses[0].rate ? CARD - uses[0].rate : CARD / 10;
        turn((uint64_t[]){CARD - CARD / 10, left});
        if (uses[0].rate == SPARE / 2 && uses[1].rate == SPARE / 2)
            return turns;
    }
    return 0;
}

int main(void)
{
    begin(3);
    turn((uint64_t[]){CARD, 0, 0});
    is_int(uses[0].rate, 0, "a lease that is alone has no limit");
    turn((uint64_t[]){CARD / 4, CARD / 4, 0});
    for (int i = 0; i < TURNS_PER_SECOND; i++)
        turn((uint64_t[]){CARD / 4, CARD / 4, 0});
    ok(uses[0].rate > CARD / 4 && uses[1].rate > CARD / 4,
       "two that leave some of the card are not slowed");

    turn((uint64_t[]){CARD, 1000, 0});
    ok(uses[0].rate > CARD / 2 && uses[0].rate < SPARE, "one beside small messages has the rest");
    is_int(uses[1].rate, uses[0].rate, "and may take as much");

    begin(2);
    unsigned turns = turns_until_equal();
    ok(turns > 1 && turns < 10, "one that had a tenth of the card has half of it soon");
    for (int i = 0; i < 10 * TURNS_PER_SECOND; i++)
        turn((uint64_t[]){CARD, 0});
    is_int(uses[0].rate, 0, "after it has moved nothing for seconds, the other has no limit");

    begin(3);
    for (int i = 0; i < TURNS_PER_SECOND; i++)
        turn((uint64_t[]){CARD, CARD, CARD});
    is_int(uses[0].rate, SPARE / 3, "three that want all have a third each");
    for (int i = 0; i < 10 * TURNS_PER_SECOND; i++)
        turn((uint64_t[]){CARD, CARD, CARD / 10});
    is_int(uses[0].rate, (SPARE - CARD / 10 / 2 * 3 - CARD / 50) / 2,
           "two share what the third leaves, which may grow by half");
    is_int(uses[1].rate, uses[0].rate, "equally");
    ok(uses[2].rate > CARD / 10, "and it is not slowed");

    begin(2);
    turn((uint64_t[]){UINT64_MAX / 2, CARD});
    ok(uses[0].recent == CARD, "a count that cannot be is read as the card's speed");
    return done();
}
