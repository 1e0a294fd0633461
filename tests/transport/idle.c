// SPDX-License-Identifier: BSD-3-Clause
// An idle link takes no processor time: both ends sleep, and nothing wakes them from time to time.
#include "tests/transport/pairs.h"

enum { WATCHED_MS = 400 };

static void check(const struct pair_kind *kind)
{
    struct link_options options = {.spin_us = link_default_spin_us()};
    struct pair pair = pair_open(kind, &options);
    struct waiter ends[2];
    long before[2], after[2];

    for (uint32_t i = 0; i < 5; i++) {
        uint32_t *record = link_reserve(pair.client, 64); // as a thread for sending would do
        record[1] = i;
        link_commit(pair.client);
        receive_value(pair.worker, 5000);
    }
    waiter_start(&ends[0], wait_for_value, pair.worker);
    waiter_start(&ends[1], wait_for_value, pair.client);
    bool asleep = true;
    for (int i = 0; i < 2; i++)
        asleep = waiter_await_sleep(&ends[i]) && asleep;
    for (int i = 0; i < 2; i++)
        before[i] = task_switches(atomic_load(&ends[i].tid));
    poll(NULL, 0, WATCHED_MS);
    for (int i = 0; i < 2; i++)
        after[i] = task_switches(atomic_load(&ends[i].tid));
    ok(asleep, "%s: both ends of an idle link sleep", kind->name);
    is_int(after[0] - before[0], 0, "%s: the worker's end does not wake", kind->name);
    is_int(after[1] - before[1], 0, "%s: nor does the client's", kind->name);
    link_shutdown(pair.client);
    waiter_join(&ends[0]);
    waiter_join(&ends[1]);
    pair_close(&pair);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++)
        check(&pair_kinds[i]);
    return done();
}
