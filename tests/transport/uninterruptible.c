// SPDX-License-Identifier: BSD-3-Clause
// Tests that a receiver without wake-ups receives all records, before it sleeps and while it
// sleeps. Its own shutdown and the peer's end wake it.
#include "tests/transport/pairs.h"

static void receive_uninterruptible(struct waiter *waiter)
{
    waiter->result = receive_value(waiter->link, LINK_UNINTERRUPTIBLE);
}

static void check_values(const char *name, struct link *from, struct link *to)
{
    struct waiter receiver;

    ok(send_value(from, 64, 7), "%s: a record is sent", name);
    is_int(receive_value(to, LINK_UNINTERRUPTIBLE), 7, "%s: and found there", name);
    for (uint32_t i = 0; i < 3; i++) {
        waiter_start(&receiver, receive_uninterruptible, to);
        bool slept = waiter_await_sleep(&receiver);
        bool sent = send_value(from, 64, 100 + i);
        ok(waiter_join(&receiver) == 100 + i && slept && sent,
           "%s: who sleeps is woken by a record", name);
    }
}

static void check_end(const struct pair_kind *kind, bool peer)
{
    struct pair pair = pair_open(kind, NULL);
    struct waiter receiver;

    waiter_start(&receiver, receive_uninterruptible, pair.client);
    ok(waiter_await_sleep(&receiver), "%s: who receives sleeps", kind->name);
    link_shutdown(peer ? pair.worker : pair.client);
    is_int(waiter_join(&receiver), -EPIPE, "%s: and is woken by the end of %s side", kind->name,
           peer ? "the peer's" : "its own");
    pair_close(&pair);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct pair pair = pair_open(&pair_kinds[i], NULL);
        check_values(pair.name, pair.client, pair.worker);
        check_values(pair.name, pair.worker, pair.client);
        pair_close(&pair);
        check_end(&pair_kinds[i], false);
        check_end(&pair_kinds[i], true);
    }
    return done();
}
