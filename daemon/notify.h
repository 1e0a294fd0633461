// SPDX-License-Identifier: BSD-3-Clause
// What the service manager is told.
#ifndef RGPU_DAEMON_NOTIFY_H
#define RGPU_DAEMON_NOTIFY_H

#include "daemon/box.h"

void notify_state(const struct box *box);
void notify_reloading(void);
void notify_start_watchdog(struct box *box);
void notify_stop_watchdog(void);

#endif
