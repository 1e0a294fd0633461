// SPDX-License-Identifier: BSD-3-Clause
// Timeouts, wake-ups and queries for pending records.
#include "tests/transport/pairs.h"

static void check_timeouts(const struct pair *pair)
{
    uint32_t buffer[64];
    double start = seconds_now();

    is_int(link_receive(pair->worker, buffer, sizeof(buffer), 0), 0,
           "%s: no waiting with a time-out of 0", pair->name);
    is_int(link_receive(pair->worker, buffer, sizeof(buffer), 30), 0,
           "%s: nothing within the time-out", pair->name);
    ok(seconds_now() - start >= 0.029, "%s: the time-out is waited for", pair->name);
}

static bool becomes_pending(struct link *link)
{
    double deadline = seconds_now() + 20;

    while (!link_pending(link) && seconds_now() < deadline)
        poll(NULL, 0, 1);
    return link_pending(link);
}

static void check_pending(const struct pair *pair)
{
    uint32_t buffer[64];

    ok(!link_pending(pair->worker), "%s: nothing is pending at first", pair->name);
    for (uint32_t i = 1; i <= 2; i++)
        send_value(pair->client, 64, i);
    ok(becomes_pending(pair->worker), "%s: a record is pending", pair->name);
    is_int(receive_value(pair->worker, 5000), 1, "%s: it is received", pair->name);
    ok(becomes_pending(pair->worker), "%s: the second one is pending still", pair->name);
    is_int(receive_value(pair->worker, 5000), 2, "%s: it is received too", pair->name);
    ok(!link_pending(pair->worker), "%s: nothing is pending then", pair->name);
    is_int(link_receive(pair->worker, buffer, sizeof(buffer), 0), 0, "%s: nor received",
           pair->name);
}

static void receive_once(struct waiter *waiter)
{
    uint32_t buffer[64];

    waiter->result = link_receive(waiter->link, buffer, sizeof(buffer), -1);
}

static void check_interrupts(const struct pair *pair)
{
    struct waiter waiter;
    uint32_t buffer[64];

    waiter_start(&waiter, receive_once, pair->worker);
    waiter_await_sleep(&waiter);
    link_interrupt(pair->worker);
    is_int(waiter_join(&waiter), 0, "%s: an interrupt ends a sleep", pair->name);

    link_interrupt(pair->worker);
    is_int(link_receive(pair->worker, buffer, sizeof(buffer), -1), 0,
           "%s: an interrupt that came first ends the next wait", pair->name);
    double start = seconds_now();
    is_int(link_receive(pair->worker, buffer, sizeof(buffer), 30), 0, "%s: but only that one",
           pair->name);
    ok(seconds_now() - start >= 0.029, "%s: the one after waits", pair->name);

    waiter_start(&waiter, wait_for_value, pair->worker);
    waiter_await_sleep(&waiter);
    send_value(pair->client, 64, 5);
    is_int(waiter_join(&waiter), 5, "%s: interrupts lose no record", pair->name);
}

static void receive_payload(struct waiter *waiter)
{
    char payload[1000];

    receive_value(waiter->link, -1);
    waiter->result = link_receive_bulk(waiter->link, payload, sizeof(payload));
}

static void check_interrupt_in_payload(const struct pair *pair)
{
    struct waiter waiter;

    waiter_start(&waiter, receive_payload, pair->worker);
    send_value(pair->client, 8, 0);
    waiter_await_sleep(&waiter);
    link_interrupt(pair->worker);
    ok(waiter_await_sleep(&waiter), "%s: an interrupt does not end the wait for a payload",
       pair->name);
    link_shutdown(pair->client);
    is_int(waiter_join(&waiter), -EPIPE, "%s: the peer's end does", pair->name);
}

int main(void)
{
    for (size_t i = 0; i < PAIR_KINDS; i++) {
        struct link_options options = {.spin_us = 1, .block_size = 4096, .block_count = 1};
        struct pair pair = pair_open(&pair_kinds[i], &options);
        check_timeouts(&pair);
        check_pending(&pair);
        check_interrupts(&pair);
        check_interrupt_in_payload(&pair);
        pair_close(&pair);
    }
    return done();
}
