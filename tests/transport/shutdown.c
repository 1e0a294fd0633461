// SPDX-License-Identifier: BSD-3-Clause
// A shutdown from any thread ends every wait on both sides, and the links stay down.
#include "tests/transport/pairs.h"

static void check(const struct pair_kind *kind)
{
    struct link_options options = {.spin_us = 5, .block_size = 4096, .block_count = 1};
    struct pair pair = pair_open(kind, &options);
    struct waiter receiver, sender, peer;
    uint32_t record[2] = {0};
    char byte = 0;

    waiter_start(&receiver, wait_for_value, pair.client);
    waiter_start(&sender, send_for_ever, pair.client);
    while (!waiter_await_sleep(&sender) || !waiter_await_sleep(&receiver))
        ;
    link_shutdown(pair.client);
    is_int(waiter_join(&receiver), -EPIPE, "%s: a receiver that sleeps ends", kind->name);
    ok(waiter_join(&sender) > 0, "%s: a sender that sleeps ends", kind->name);
    is_str(link_error(pair.client), "this side has shut the link down", "%s: the error says why",
           kind->name);

    is_int(receive_value(pair.client, -1), -EPIPE, "%s: receiving fails afterwards", kind->name);
    ok(!link_reserve(pair.client, 64), "%s: so does reserving", kind->name);
    is_int(link_flush(pair.client), -EPIPE, "%s: so does flushing", kind->name);
    is_int(link_send_bulk(pair.client, record, 8, &byte, 1), -EPIPE, "%s: so does a payload",
           kind->name);
    is_int(link_receive_bulk(pair.client, &byte, 1), -EPIPE, "%s: and receiving one", kind->name);
    ok(link_pending(pair.client), "%s: there is something to be told", kind->name);
    link_shutdown(pair.client);
    link_interrupt(pair.client);

    waiter_start(&peer, wait_for_value, pair.worker);
    while (waiter_join(&peer) >= 0)
        waiter_start(&peer, wait_for_value, pair.worker);
    is_int(peer.result, -EPIPE, "%s: the peer takes what was sent and then sees the end",
           kind->name);
    pair_close(&pair);
}

static void check_sizes(const struct pair_kind *kind)
{
    struct pair pair = pair_open(kind, NULL);

    ok(!link_reserve(pair.client, WIRE_RECORD_MAX + 8), "%s: no room for too large a record",
       kind->name);
    is_int(link_flush(pair.client), -EINVAL, "%s: our own mistake ends the link too", kind->name);
    pair_close(&pair);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        check(&pair_kinds[i]);
        check_sizes(&pair_kinds[i]);
    }
    return done();
}
