// SPDX-License-Identifier: BSD-3-Clause
// Reports the daemon's state to the service manager (sd_notify).
#ifndef RGPU_DAEMON_NOTIFY_H
#define RGPU_DAEMON_NOTIFY_H

#include "daemon/rgpud/box/box.h"

// Reports readiness, draining or stopping, according to the state of the box.
void notify_state(const struct box *box);
// Reports that a reload of the settings begins. notify_state() reports its end.
void notify_reloading(void);
// Starts watchdog messages if the service manager expects them.
void notify_start_watchdog(struct box *box);
void notify_stop_watchdog(void);

#endif
