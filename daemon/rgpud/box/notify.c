// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/box/notify.h"

#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "common/base/clock.h"

static struct event *watchdog;

void notify_state(const struct box *box)
{
    switch (box->state) {
    case BOX_STARTING: sd_notify(0, "STATUS=starting the first worker"); return;
    case BOX_SERVING:
        sd_notifyf(0, "READY=1\nSTATUS=serving, %u devices", box->device_count);
        return;
    case BOX_DRAINING: sd_notify(0, "STATUS=drained: no new sessions"); return;
    case BOX_LEAVING:
        sd_notifyf(0, "STOPPING=1\nSTATUS=waiting for the end of %u sessions", box->session_count);
        return;
    case BOX_STOPPING: sd_notify(0, "STOPPING=1\nSTATUS=ending all workers"); return;
    }
}

void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)clock_us());
}

static void feed_watchdog(evutil_socket_t fd, short events, void *argument)
{
    sd_notify(0, "WATCHDOG=1");
}

void notify_start_watchdog(struct box *box)
{
    uint64_t interval;

    if (sd_watchdog_enabled(0, &interval) <= 0)
        return;
    interval /= 2;
    struct timeval period = {.tv_sec = (time_t)(interval / 1000000),
                             .tv_usec = (suseconds_t)(interval % 1000000)};
    watchdog = event_new(box->base, -1, EV_PERSIST, feed_watchdog, NULL);
    if (watchdog)
        event_add(watchdog, &period);
}

void notify_stop_watchdog(void)
{
    if (watchdog)
        event_free(watchdog);
    watchdog = NULL;
}
