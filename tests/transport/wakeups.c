// SPDX-License-Identifier: BSD-3-Clause
// A receiver that sleeps is woken by a record, however the two threads interleave.
#include "tests/transport/pairs.h"

enum { TURNS = 3000 };

static void answer_all(struct waiter *waiter)
{
    int64_t value;

    while ((value = receive_value(waiter->link, 20000)) > 0) {
        waiter->result++;
        if (!send_value(waiter->link, 8 + (uint32_t)value % 5 * 8, (uint32_t)value))
            break;
    }
}

static void check(const struct pair_kind *kind, uint32_t spin_us)
{
    struct link_options options = {.spin_us = spin_us, .block_size = 4096, .block_count = 1};
    struct pair pair = pair_open(kind, &options);
    struct waiter waiter;
    uint32_t turn;

    waiter_start(&waiter, wait_for_value, pair.worker);
    ok(waiter_await_sleep(&waiter), "%s, spinning %u us: a receiver with nothing to do sleeps",
       kind->name, spin_us);
    send_value(pair.client, 64, 7);
    is_int(waiter_join(&waiter), 7, "%s, spinning %u us: a record wakes it", kind->name, spin_us);

    waiter_start(&waiter, wait_for_value, pair.worker);
    waiter_await_sleep(&waiter);
    uint32_t *record = link_reserve(pair.client, 64);
    record[1] = 8;
    link_commit(pair.client);
    is_int(waiter_join(&waiter), 8, "%s, spinning %u us: a record that nobody flushes does too",
           kind->name, spin_us);

    waiter_start(&waiter, answer_all, pair.worker);
    for (turn = 1; turn <= TURNS; turn++)
        if (!send_value(pair.client, 64, turn) || receive_value(pair.client, 20000) != turn)
            break;
    is_int(turn, TURNS + 1, "%s, spinning %u us: no wake-up is lost in %d round trips", kind->name,
           spin_us, TURNS);
    link_shutdown(pair.client);
    waiter_join(&waiter);
    pair_close(&pair);
}

int main(void)
{
    static const uint32_t spins[] = {0, 1, 30};

    for (size_t i = 0; i < PAIR_KINDS; i++)
        for (size_t j = 0; j < sizeof(spins) / sizeof(spins[0]); j++)
            check(&pair_kinds[i], spins[j]);
    return done();
}
