// SPDX-License-Identifier: BSD-3-Clause
// Tests that an event loop measures the time in which it served no event, because a callback
// blocked or computed, without the time in which it waits for events.
#include <event2/event.h>
#include <poll.h>

#include "common/base/clock.h"
#include "common/service/loop_stall.h"
#include "tests/tap.h"

static const uint64_t MS = 1000000;

static void block(evutil_socket_t fd, short events, void *argument)
{
    poll(NULL, 0, 150);
}

static void compute(evutil_socket_t fd, short events, void *argument)
{
    uint64_t end = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + 120 * MS;

    while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void nothing(evutil_socket_t fd, short events, void *argument)
{
}

// Runs CALLBACK in the loop, after a wait of MS.
static void run_after(struct event_base *base, event_callback_fn callback, long ms)
{
    struct timeval delay = {.tv_usec = ms * 1000};

    if (event_base_once(base, -1, EV_TIMEOUT, callback, NULL, &delay))
        bail("no event");
    event_base_dispatch(base);
}

int main(void)
{
    struct event_base *base = event_base_new();

    if (!base)
        bail("no loop");
    loop_stall_start();
    run_after(base, nothing, 300);
    run_after(base, nothing, 1);
    is_int(loop_stall_count(), 0, "a loop that waits for events serves them");
    run_after(base, block, 1);
    run_after(base, nothing, 1);
    is_int(loop_stall_count(), 1, "a callback that blocks is a stall");
    ok(loop_stall_longest_ns() >= 150 * MS, "of at least that time");
    run_after(base, compute, 1);
    run_after(base, nothing, 1);
    is_int(loop_stall_count(), 2, "so is one that computes");
    event_base_free(base);
    return done();
}
